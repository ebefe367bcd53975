"""The command line: `autograph convert` prints converted modules, `autograph explain` says what stages.

Exit status: 0 success, 1 a function cannot be converted, 2 bad input or usage. Results go to
stdout and errors to stderr; if any input fails, no code is printed or written for the others.
"""
from __future__ import annotations

import argparse
import difflib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any

from autograph import __version__
from autograph.api import STAGES, Explanation
from autograph.core.errors import ConversionError
from autograph.frontend.source import compiled
from autograph.printing.to_code import convert_source, explain_source
from autograph.tools.inputs import Input, InputError, read_inputs

try:
    from pygments import highlight
    from pygments.formatters import TerminalFormatter
    from pygments.lexers import DiffLexer, PythonLexer
except ImportError:  # the extra `color` is not installed
    highlight = None

__all__ = ["main"]

_TARGETS = "a file, a directory (all its .py files), a module by dotted name (not imported), or - for stdin"
_CONVERT = """\
examples:
  autograph convert model.py                      print the whole module, converted; it runs as it is
  autograph convert model.py --function Net.call  convert one function of it
  autograph convert model.py --diff               show what changes
  autograph convert src tests --output build      write converted copies, directories mirrored
  autograph convert mypackage.model --check       list what stages and what stays Python
  cat model.py | autograph convert -              read standard input
"""
_EXPLAIN = """\
examples:
  autograph explain model.py
  autograph explain mypackage.model --function Net.call
  autograph explain model.py --json | jq '.[].function'
"""
_NAMING = "Name it as Class.method or outer.inner; `autograph explain` lists them."
_STATUS = "exit status: 0 ok, 1 a function cannot convert, 2 bad input or usage"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (default: those of the process) and return its exit status."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 2
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except InputError as error:
        return _fail(error)
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autograph", epilog=_STATUS,
        description="Ordinary Python control flow becomes a graph: shows what code is converted to.",
    )
    parser.add_argument("--version", action="version", version=f"autograph {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    convert = _command(commands, "convert", "print modules with their functions converted", _CONVERT)
    convert.set_defaults(run=_convert)
    passes = ", ".join(STAGES)
    convert.add_argument("--stage", metavar="PASS", choices=STAGES, help=f"stop after a pass: {passes}")
    forms = convert.add_mutually_exclusive_group()
    forms.add_argument("--diff", action="store_true", help="print a unified diff from the original text")
    forms.add_argument("--output", metavar="DIR", help="write converted files below DIR instead of printing")
    forms.add_argument("--check", action="store_true", help="list what stages, and what not, per function")
    convert.add_argument("--no-color", action="store_true", help="never highlight (so does NO_COLOR=1)")

    summary = "say, per statement, whether it stages or stays Python, and by which rule"
    explain = _command(commands, "explain", summary, _EXPLAIN)
    explain.set_defaults(run=_explain)
    explain.add_argument("--json", action="store_true", help="print the same as JSON")
    return parser


def _command(commands: Any, name: str, summary: str, examples: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"{examples}\n{_STATUS}", formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("targets", nargs="+", metavar="PATH|MODULE|-", help=_TARGETS)
    parser.add_argument("--function", metavar="QUALNAME", help="only this one: f, Class.method, outer.inner")
    return parser


# ---- convert ----


def _convert(options: argparse.Namespace) -> int:
    inputs = read_inputs(options.targets)
    status = _check_syntax(inputs)
    if status:
        return status
    if options.check:
        return _check(inputs, options.function)
    places = _output_paths(inputs, options.output) if options.output is not None else {}
    converted: list[tuple[Input, str]] = []
    for item in inputs:
        try:
            text = convert_source(item.text, item.name, function=options.function, stage=options.stage)
        except LookupError:  # the function may be in another of the files
            continue
        except ConversionError as error:
            status = _fail(error, 1)
        else:
            converted.append((item, text))
    if status:
        return status
    if not converted:
        raise InputError(_no_function(inputs, options.function))
    if options.output is not None:
        for item, text in converted:
            _write(places[item.name], text, item)
        return 0
    color = _wants_color(options)
    for index, (item, text) in enumerate(converted):
        if options.diff:
            _show(_diff(item, text), color, diff=True)
            continue
        if len(converted) > 1:
            text = f"# {item.name}\n{text}"
        _show("\n\n" * bool(index) + text, color)
    return 0


def _check_syntax(inputs: Iterable[Input]) -> int:
    status = 0
    for item in inputs:
        try:
            compiled(item.text, item.name)
        except ConversionError as error:
            status = _fail(error)
    return status


def _no_function(inputs: Sequence[Input], name: str) -> str:
    where = inputs[0].name if len(inputs) == 1 else f"these {len(inputs)} files"
    return f"{where}: no function {name!r}\n{_NAMING}"


def _diff(item: Input, text: str) -> str:
    before, after = item.text.splitlines(keepends=True), text.splitlines(keepends=True)
    lines = difflib.unified_diff(before, after, item.name, f"{item.name} (converted)")
    unended = "\n\\ No newline at end of file\n"
    return "".join(line if line.endswith("\n") else line + unended for line in lines)


def _output_paths(inputs: Sequence[Input], folder: str) -> dict[str, str]:
    """The output path of each input. InputError if two inputs share one, or if one would overwrite its source."""
    taken: dict[str, str] = {}
    paths: dict[str, str] = {}
    for item in inputs:
        if item.relative is None:
            raise InputError("--output needs a file name\nWrite `autograph convert - > FILE` for standard input.")
        path = os.path.join(folder, item.relative)
        real = os.path.realpath(path)
        if real == os.path.realpath(item.name):
            raise InputError(f"{item.name}: --output would overwrite the source\nChoose another directory.")
        if real in taken:
            both = f"{item.name}: both this and {taken[real]} would be written to {path}"
            raise InputError(f"{both}\nConvert them with different --output directories.")
        taken[real], paths[item.name] = item.name, path
    return paths


def _write(path: str, text: str, item: Input) -> None:
    """Write the file atomically, in the encoding and with the mode of its source."""
    try:
        data = text.encode(item.encoding)
        folder = os.path.dirname(path)
        os.makedirs(folder or ".", exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".autograph-", dir=folder or ".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            shutil.copymode(item.name, temporary)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror}") from None


# ---- check and explain ----


def _check(inputs: Sequence[Input], function: str | None) -> int:
    errors: dict[str, ConversionError] = {}  # each is reported once
    for item, reports in _explanations(inputs, function):
        failed = None
        try:
            convert_source(item.text, item.name, function=function)
        except ConversionError as error:
            errors[str(error)] = error
            failed = max((r for r in reports if r.lineno <= error.lineno), key=lambda r: r.lineno, default=None)
        for report in reports:
            if report.error is not None:
                errors[str(report.error)] = report.error
            sys.stdout.write(_summary(report, report is failed or report.error is not None))
    for told in errors.values():
        _fail(told)
    return 1 if errors else 0


def _summary(report: Explanation, failed: bool) -> str:
    """`file:line: qualname: staged if a tensor N, Python M`, and a line for each statement with its rule."""
    head = f"{report.filename}:{report.lineno}: {report.function}: "
    if failed:
        return f"{head}cannot convert\n"
    if report.rule is not None:
        return f"{head}left alone: {report.rule}\n"
    staged = sum(d.staged for d in report.decisions)
    lines = [f"{head}staged if a tensor {staged}, Python {len(report.decisions) - staged}\n"]
    for d in report.decisions:
        kind = "staged if a tensor" if d.staged else "Python"
        lines.append(f"    {report.filename}:{d.lineno}: {d.statement}: {kind}: {d.rule}\n")
    return "".join(lines)


def _explain(options: argparse.Namespace) -> int:
    inputs = read_inputs(options.targets)
    status = _check_syntax(inputs)
    if status:
        return status
    reports = [report for _, found in _explanations(inputs, options.function) for report in found]
    if options.json:
        print(json.dumps([_as_data(report) for report in reports], indent=2))
    else:
        print("\n\n".join(str(report) for report in reports))
    return int(any(report.error is not None for report in reports))


def _explanations(inputs: Sequence[Input], function: str | None) -> list[tuple[Input, list[Explanation]]]:
    found = []
    for item in inputs:
        try:
            found.append((item, explain_source(item.text, item.name, function=function)))
        except LookupError:
            continue
    if function is not None and not found:
        raise InputError(_no_function(inputs, function))
    return found


def _as_data(report: Explanation) -> dict[str, Any]:
    return {
        "function": report.function,
        "filename": report.filename,
        "lineno": report.lineno,
        "rule": report.rule,
        "error": None if report.error is None else str(report.error),
        "decisions": [
            {"lineno": d.lineno, "col": d.col, "statement": d.statement, "staged": d.staged, "rule": d.rule}
            for d in report.decisions
        ],
    }


# ---- the terminal ----


def _fail(error: Exception, status: int = 2) -> int:
    sys.stdout.flush()
    print(f"autograph: error: {error}", file=sys.stderr)
    return status


def _wants_color(options: argparse.Namespace) -> bool:
    plain = options.no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return highlight is not None and not plain and sys.stdout.isatty()


def _show(text: str, color: bool, *, diff: bool = False) -> None:
    if color:
        lexer = (DiffLexer if diff else PythonLexer)(stripnl=False, ensurenl=False)
        text = highlight(text, lexer, TerminalFormatter())
    sys.stdout.write(text)
