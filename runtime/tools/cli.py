"""The command line: `python -m runtime graph FILE:FUNCTION --spec TYPE ...` prints or draws a traced graph,
`python -m runtime run PATH --input x.npy` calls a saved model, and `python -m runtime keras SCRIPT ...` runs a script
with Keras on this runtime.

Exit status: 0 success, 1 the function cannot be traced, 2 invalid input or arguments. A script's exit status is its
own.
"""
from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import re
import runpy
import sys
import tempfile
import traceback
from collections.abc import Sequence
from typing import Any

from autograph.backend import ConversionError, deferred, format_error, is_internal
from runtime.autodiff.activity import differentiable, variables_read
from runtime.autodiff.reverse import derivative
from runtime.core.errors import DataLossError, FailedPreconditionError, NotFoundError
from runtime.core.types import TensorSpec, as_dtype
from runtime.function.arguments.signature import InvalidArgumentsError
from runtime.function.concrete import ConcreteFunction
from runtime.function.decorate import function
from runtime.function.function import Function
from runtime.function.method import Method
from runtime.numbers.prepared import prepared
from runtime.tools import saved
from runtime.tools.draw import to_dot

__all__ = ["main", "parse_spec"]

_released = deferred("runtime.keras.released")

_EXAMPLES = """\
examples:
  python -m runtime graph model.py:step --spec int32 --spec 'float32[None,3]'
  python -m runtime graph package.module:Net.call --spec 'float32[8]' --svg net.svg
  python -m runtime graph model.py:loss --spec 'float32[8]' --grad
  python -m runtime run model/ --input x.npy --output y.npy
  python -m runtime keras train.py --epochs 10

exit status: 0 ok, 1 the function cannot be traced or raises an error, 2 bad input or usage
"""


class _UsageError(Exception):
    """The input or the arguments are invalid."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (default: those of the process) and return its exit status."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 2
    if options.command == "keras":
        return _run_keras(options.script)
    try:
        text = _results(options) if options.command == "run" else _drawn(options)
    except (_UsageError, saved.BadInputError) as error:
        return _fail(2, str(error))
    except (DataLossError, FailedPreconditionError, NotFoundError, OSError) as error:
        return _fail(2, str(error))
    except Exception as error:  # raised by the traced function, perhaps by the user's code
        return _fail(1, _located(error))
    try:
        print(text, end="" if text.endswith("\n") else "\n")
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has finished
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m runtime",
        description="Shows the graphs that functions become, calls saved models, and runs Keras.")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    graph = commands.add_parser(
        "graph", help="print or draw the graph of a function", epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Trace a function for the given types and print its graph.")
    graph.add_argument("function", metavar="FILE:FUNCTION",
                       help="a file, or a module by dotted name, and a function in it (Class.method for a static one)")
    graph.add_argument("--spec", action="append", default=[], metavar="TYPE", dest="specs",
                       help="type of an argument, in order: int32, 'float32[8]', 'float32[None,3]'")
    keras = commands.add_parser(
        "keras", help="run a script, in which `import keras` is Keras on this runtime",
        description="Run a script, or a module with -m, in which `import keras` is Keras on this runtime.")
    keras.add_argument("script", metavar="SCRIPT", nargs=argparse.REMAINDER,
                       help="a file, or -m and a module, then the arguments of the script")
    run = commands.add_parser(
        "run", help="call a saved model", description="Call a signature of a saved model, and print its results.")
    run.add_argument("path", metavar="PATH", help="the folder of the model")
    run.add_argument("--input", action="append", default=[], metavar="[NAME=]VALUE", dest="inputs",
                     help="a file of NumPy's (.npy), or JSON such as '[1.0, 2.0]'; without a name in order")
    run.add_argument("--signature", default="serving_default", metavar="NAME", help="default: serving_default")
    run.add_argument("--output", metavar="FILE", help="write the results to a .npy or .npz file instead")
    output = graph.add_mutually_exclusive_group()
    output.add_argument("--grad", action="store_true",
                        help="print the graphs of its derivative: the forward graph, which also gives what is saved, "
                             "and the backward graph")
    output.add_argument("--dot", metavar="OUT", help="write the graph in Graphviz's language; - for stdout")
    output.add_argument("--svg", metavar="OUT", help="write a drawing; - for stdout")
    return parser


def _drawn(options: argparse.Namespace) -> str:
    """Write files as requested; returns the text to print."""
    specs = [parse_spec(text) for text in options.specs]
    fn = _load(options.function)
    if not isinstance(fn, (Function, Method)):
        fn = function(fn)
    try:
        concrete = fn.get_concrete_function(*specs)
    except InvalidArgumentsError as error:
        raise _UsageError(f"{options.function}: {error.message}\nGive a --spec TYPE for each argument without a "
                          "default, in order.") from None
    if options.dot is not None:
        return _write(options.dot, to_dot(concrete))
    if options.svg is not None:
        return _write(options.svg, concrete.graph.to_svg(most=5000))
    return _derivative(concrete) if options.grad else str(concrete.graph)


def _results(options: argparse.Namespace) -> str:
    """The results of a saved model as text to print, or an empty text after writing them to a file."""
    results = saved.results_of(options.path, options.signature, options.inputs)
    if options.output is None:
        return saved.shown(results)
    saved.written(options.output, results)
    return ""


def _run_keras(script: Sequence[str]) -> int:
    """Run a script as `python SCRIPT ...` does, with Keras on this backend. Its errors and exit status are its own."""
    is_module = script[:1] == ["-m"]
    target = script[is_module:][:1]
    if not target:
        return _fail(2, "which script? python -m runtime keras SCRIPT, or -m MODULE")
    if not is_module and not os.path.exists(target[0]):
        return _fail(2, f"there is no file {target[0]!r}")
    try:
        _released.install()
    except ImportError as error:
        return _fail(2, str(error))
    sys.argv = list(script[is_module:])
    if is_module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(target[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(target[0])))
        runpy.run_path(target[0], run_name="__main__")
    return 0


def _derivative(concrete: ConcreteFunction) -> str:
    """The forward and the backward graph of all floating arguments, variables and results."""
    graph = prepared(concrete.graph)
    wanted = [i for i, value in enumerate(graph.inputs) if differentiable(value.type)]
    variables = [v for v in variables_read(graph).values() if v.trainable and differentiable(v.type)]
    outputs = [k for k, value in enumerate(graph.outputs) if differentiable(value.type)]
    found = derivative(graph, wanted, variables, outputs)
    return f"{found.forward}\n{prepared(found.backward)}"


def parse_spec(text: str) -> TensorSpec:
    """The TensorSpec for `int32`, `float32[8]`, `float32[None,3]` or `float32[?,3]`."""
    match = re.fullmatch(r"\s*(\w+)\s*(?:\[([^\]]*)\])?\s*", text)
    try:
        if match is None:
            raise TypeError
        dims = [dim.strip() for dim in (match[2] or "").split(",")] if (match[2] or "").strip() else []
        return TensorSpec([None if dim in ("None", "?") else int(dim) for dim in dims], as_dtype(match[1]))
    except (TypeError, ValueError):
        raise _UsageError(f"{text!r} is not a type: write int32, 'float32[8]' or 'float32[None,3]'") from None


def _load(target: str) -> Any:
    """The function named by `FILE:FUNCTION` or `MODULE:FUNCTION`."""
    source, colon, name = target.rpartition(":")
    if not colon or not source or not name:
        raise _UsageError(f"{target!r} does not name a function: write FILE:FUNCTION, such as model.py:step")
    module = _load_file(source) if source.endswith(".py") or os.sep in source else _load_module(source)
    found = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise _UsageError(f"{source} has no function {name!r}") from None
    if not callable(found) or isinstance(found, type):
        raise _UsageError(f"{name!r} in {source} is not a function")
    return found


def _load_file(filename: str) -> Any:
    if not os.path.isfile(filename):
        raise _UsageError(f"there is no file {filename!r}")
    name = os.path.splitext(os.path.basename(filename))[0]
    spec = importlib.util.spec_from_file_location(name, filename)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    sys.path.insert(0, os.path.dirname(os.path.abspath(filename)))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        if error.lineno is None:
            raise _UsageError(f"{filename} is not Python source: {error.msg}") from None
        what = format_error(filename, error.lineno, (error.offset or 1) - 1, error.msg)
        raise _UsageError(what) from None
    except (UnicodeDecodeError, ValueError) as error:
        raise _UsageError(f"{filename} is not Python source: {error}") from None
    finally:
        sys.path.pop(0)
    return module


def _load_module(name: str) -> Any:
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise _UsageError(f"there is no file or module {name!r}: {error}") from None
    finally:
        sys.path.pop(0)


def _write(filename: str, text: str) -> str:
    """Write a file atomically; returns the text to print."""
    if filename == "-":
        return text
    folder = os.path.dirname(os.path.abspath(filename))
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".runtime-", suffix=".tmp")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, filename)
    except BaseException:
        os.unlink(temporary)
        raise
    return f"wrote {filename}"


def _located(error: Exception) -> str:
    """The text of an error, with the user's line that raised it."""
    if isinstance(error, ConversionError) or getattr(error, "located", False):
        return str(error)
    what = f"{type(error).__name__}: {error}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not is_internal(frame.filename)]
    return format_error(frames[-1].filename, frames[-1].lineno or 0, None, what) if frames else what


def _fail(status: int, text: str) -> int:
    print(f"runtime: error: {text}", file=sys.stderr)
    return status
