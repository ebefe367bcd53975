"""Makes released Keras run on this backend.

Keras 3.15 and 3.16 select their backend by name, in `if backend() == "jax": ... elif ...` chains of a few modules,
without a hook for backends of other packages. A finder, first in `sys.meta_path`, loads these modules with one more
branch in their chain, removes needless imports of TensorFlow, JAX or scikit-learn from a few others, and gives those
that need TensorFlow on every backend this runtime in its place; all other modules of Keras load unchanged. The
alternatives were a fork of Keras, or to pose as one of the backends that it knows, whose names scripts and Keras' tests
check.

Keras' plug-in system (its RFC is keras-team/keras#23523, the refactoring began with #23397) will make this module
unnecessary: such a release imports `runtime.keras.backend` itself for KERAS_BACKEND=runtime.

tests/keras/test_released.py fails if a release of Keras no longer has the chains.
"""
from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, Final

__all__ = ["BACKEND", "BRANCHES", "CHANGES", "Finder", "adapted", "install"]

BACKEND: Final = "runtime"
_CONFIG: Final = "keras.src.backend.config"
BRANCHES: Final = {
    "keras.src.backend": """
from runtime.keras.backend import *
from runtime.keras.backend.core import Variable as BackendVariable
""",
    "keras.src.layers.layer": "from runtime.keras.backend.layer import RuntimeLayer as BackendLayer",
    "keras.src.optimizers.optimizer":
        "from runtime.keras.backend.optimizer import RuntimeOptimizer as BackendOptimizer",
    "keras.src.models.model": "from runtime.keras.backend.trainer import RuntimeTrainer as Trainer",
    "keras.src.export.saved_model":
        "from runtime.keras.backend.export import RuntimeExportArchive as BackendSavedModelExportArchive",
}
"""By module of Keras, the code of the branch that selects this backend."""


def install() -> None:
    """Let Keras run on this backend in this process. ImportError if it already runs on another one."""
    loaded = sys.modules.get(_CONFIG)
    if loaded is not None and loaded.backend() != BACKEND:
        raise ImportError(f"keras was imported before, on the backend {loaded.backend()!r}: import runtime.keras first")
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


class Finder:
    """Finds the modules whose source is to be adapted, and no others. `adapted` makes a module's syntax tree from its
    name and its source."""

    def __init__(self, is_wanted: Callable[[str], bool], adapted: Callable[[str, bytes], ast.Module]) -> None:
        self._is_wanted, self._adapted = is_wanted, adapted

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not self._is_wanted(fullname):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(fullname, spec.loader.path, self._adapted)
        return spec


class _Loader(SourceFileLoader):
    """Compiles the adapted source each time: the bytecode cache belongs to the original source."""

    def __init__(self, fullname: str, path: str, adapted: Callable[[str, bytes], ast.Module]) -> None:
        super().__init__(fullname, path)
        self._adapted = adapted

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: Any = compile(self._adapted(fullname, self.get_data(path)), path, "exec", dont_inherit=True)
        return code  # type: ignore[no-any-return]


def adapted(module: str, source: bytes | str) -> ast.Module:
    """The syntax tree of this module of Keras, adapted to this backend. ImportError if Keras has changed there."""
    tree = ast.parse(source)
    if not (CHANGES[module](tree) if module in CHANGES else _with_branch(tree, BRANCHES[module])):
        raise ImportError(f"this release of keras chooses its backend in another way ({module}), which this version of "
                          "runtime does not know; keras 3.15 works")
    return tree


def _with_branch(tree: ast.Module, text: str) -> bool:
    """Add a branch for this backend to the chain that imports from a backend. Returns whether there is such a chain;
    the functions below likewise return whether they found what they change."""
    for i, node in enumerate(tree.body):
        if isinstance(node, ast.If) and _names_backend(node.test) and _imports_backend(node):
            branch = ast.parse(f"if None == {BACKEND!r}: pass").body[0]
            assert isinstance(branch, ast.If) and isinstance(branch.test, ast.Compare)
            assert isinstance(node.test, ast.Compare)
            branch.test.left = node.test.left
            branch.body, branch.orelse = ast.parse(text).body, [node]
            tree.body[i] = ast.copy_location(branch, node)
            return True
    return False


def _with_name(tree: ast.Module) -> bool:
    """Let the configuration name this backend."""
    for i, node in enumerate(tree.body):
        if isinstance(node, ast.FunctionDef) and node.name == "backend":
            # Not at the end: modules imported before that ask for the backend.
            tree.body[i:i] = ast.parse(f"_BACKEND = {BACKEND!r}").body
            return True
    return False


def _with_lookup(tree: ast.Module) -> bool:
    """Let preprocessing layers look names up in the current backend, also in graphs, where they take TensorFlow's."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name == "__getattr__":
            function.body[:0] = ast.parse(
                f"if self._backend in ({BACKEND!r}, 'tensorflow'): return getattr(backend_module, name)").body
            return True
    return False


def _with_summaries(tree: ast.Module) -> bool:
    """The TensorBoard callback: allow profiling on this backend, and write summaries and graphs with this runtime
    instead of TensorFlow."""
    found = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotIn) and isinstance(
                names := node.comparators[0], ast.Tuple) and ast.unparse(node.left) == "backend.backend()":
            names.elts.append(ast.copy_location(ast.Constant(BACKEND), names))
            found |= 1
        elif isinstance(node, ast.FunctionDef) and node.name == "summary":
            for part in ast.walk(node):
                if isinstance(part, ast.If) and ast.unparse(part.body[0]) == "import tensorflow.summary as summary":
                    part.body[:1] = ast.parse("from runtime.keras.backend import summaries as summary").body
                    found |= 2
        elif isinstance(node, ast.FunctionDef) and node.name == "keras_model_summary":
            node.body[:0] = ast.parse(
                "from runtime.keras.backend import summaries\nreturn summaries.model_graph(name, data, step)").body
            found |= 4
        elif isinstance(node, ast.FunctionDef) and node.name == "_write_keras_model_train_graph":
            node.body[:] = ast.parse("with self._train_writer.as_default():\n"
                                     "    self.summary.step_graph(self.model.train_function)").body
            found |= 8
    return found == 15


def _with_seed(tree: ast.Module) -> bool:
    """Where Keras seeds TensorFlow, for tf.data, seed this runtime; and TensorFlow only if it is loaded."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node) == "if tf.available:\n    tf.random.set_seed(seed)":
            node.test = ast.parse(_IS_LOADED, mode="eval").body
            place = next(f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and node in f.body).body
            k = place.index(node)
            place[k:k] = ast.parse("import runtime\nruntime.random.set_seed(seed)").body
            return True
    return False


def _without_tensorflow(tree: ast.Module) -> bool:
    """Compare with TensorFlow's classes only if it is loaded: `tf.available` would load it, for seconds and 500 MB."""
    found = False
    for node in ast.walk(tree):
        if isinstance(node, ast.BoolOp) and ast.unparse(node).startswith("tf.available and isinstance("):
            node.values[:0] = [ast.parse(_IS_LOADED, mode="eval").body]
            found = True
    return found


def _with_names_of_tensorflow(tree: ast.Module) -> bool:
    """Let a module that needs TensorFlow's strings, tables and datasets on every backend take those of this runtime,
    and do on this backend what it does on TensorFlow's. Ragged tensors are not there."""
    found = False
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "keras.src.utils.module_utils" and any(
                alias.name == "tensorflow" for alias in node.names):
            node.module = "runtime.keras.tensorflow_names"
            found = True
        elif isinstance(node, ast.ImportFrom) and node.module == "keras.src.backend" and any(
                alias.name == "tensorflow" for alias in node.names):
            node.module = "keras.src"
            node.names = [ast.copy_location(ast.alias("backend", alias.asname), alias) for alias in node.names]
        elif isinstance(node, ast.BoolOp) and "ragged" not in ast.unparse(node):
            for part in node.values:
                _includes_this_backend(part)
        elif isinstance(node, ast.If):
            _includes_this_backend(node.test)
        elif isinstance(node, ast.Tuple) and "'tensorflow.python.data'" in map(ast.unparse, node.elts):
            node.elts.append(ast.copy_location(ast.Constant("runtime.data"), node))  # modules of datasets' classes
        elif isinstance(node, ast.FunctionDef):
            node.body[:] = [each for each in node.body if not ast.unparse(each).startswith("output._keras_logits =")]
    return found


def _includes_this_backend(test: ast.expr) -> None:
    """Let a comparison of the backend with TensorFlow's be true of this one, too."""
    if isinstance(test, ast.Compare) and ast.unparse(test.left) == "backend.backend()" and (
            ast.unparse(test.comparators[0]) == "'tensorflow'"):
        test.ops = [ast.In() if isinstance(test.ops[0], ast.Eq) else ast.NotIn()]
        test.comparators = [ast.parse(f"('tensorflow', {BACKEND!r})", mode="eval").body]


def _with_strings(tree: ast.Module) -> bool:
    """Arrays of strings are no floats, though the test for these does not know their dtype."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and ast.unparse(node) == "dtype is not object":
            node.ops = [ast.NotEq()]
            return True
    return False


def _without_jax(tree: ast.Module) -> bool:
    """Move Keras' change of old JAX releases, for Orbax, into the constructor of its callback, so that only that loads
    JAX."""
    change = next((node for node in tree.body if isinstance(node, ast.Try)
                   and ast.unparse(node.body[0]) == "import jax"), None)
    made = next((each for each in ast.walk(tree)
                 if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    if change is None or made is None:
        return False
    tree.body.remove(change)
    made.body[:0] = [change]
    return True


def _without_sklearn(tree: ast.Module) -> bool:
    """Load Keras' wrappers for scikit-learn on first use: they load it, and SciPy's statistics, if these are installed,
    which takes twice as long as the rest of Keras."""
    eager = [node for node in tree.body
             if isinstance(node, ast.ImportFrom) and node.module == "keras.src.wrappers.sklearn_wrapper"]
    if not eager:
        return False
    names = [alias.name for node in eager for alias in node.names]
    tree.body[:] = [node for node in tree.body if node not in eager] + ast.parse(_ON_REQUEST.format(names)).body
    return True


def _names_backend(test: ast.expr) -> bool:
    """Whether this is `backend() == "..."` or `backend.backend() == "..."`."""
    return (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq)
            and ast.unparse(test.left) in ("backend()", "backend.backend()"))


def _imports_backend(node: ast.If) -> bool:
    """Whether the branch imports from a backend of Keras, as in the chain, and does not merely prepare an import."""
    return any(isinstance(each, ast.ImportFrom) and (each.module or "").startswith("keras.src.backend.")
               for each in node.body)


_IS_LOADED: Final = "'tensorflow' in __import__('sys').modules"
_ON_REQUEST: Final = """
__all__ = {}

def __getattr__(name):
    if name not in __all__:
        raise AttributeError("module 'keras.wrappers' has no attribute " + repr(name))
    import keras.src.wrappers.sklearn_wrapper
    return getattr(keras.src.wrappers.sklearn_wrapper, name)

def __dir__():
    return [*globals(), *__all__]
"""
_OF_TENSORFLOW: Final = (
    "layers.preprocessing.discretization", "layers.preprocessing.feature_space", "layers.preprocessing.hashing",
    "layers.preprocessing.index_lookup", "layers.preprocessing.integer_lookup", "layers.preprocessing.normalization",
    "layers.preprocessing.string_lookup", "layers.preprocessing.text_vectorization", "legacy.backend",
    "utils.dataset_utils",
    "utils.image_dataset_utils", "utils.text_dataset_utils", "utils.tf_utils", "utils.timeseries_dataset_utils",
)
CHANGES: Final[dict[str, Callable[[ast.Module], bool]]] = {
    _CONFIG: _with_name,
    "keras.src.utils.backend_utils": _with_lookup,
    "keras.src.callbacks.tensorboard": _with_summaries,
    "keras.src.callbacks.orbax_checkpoint": _without_jax,
    "keras.src.saving.serialization_lib": _without_tensorflow,
    "keras.src.trainers.data_adapters.array_slicing": _with_strings,
    "keras.src.utils.rng_utils": _with_seed,
    "keras.wrappers": _without_sklearn,
    **{f"keras.src.{module}": _with_names_of_tensorflow for module in _OF_TENSORFLOW},
}
"""By module of Keras, the function that changes its tree in place; it returns whether it found what it changes."""
_finder: Final = Finder({*BRANCHES, *CHANGES}.__contains__, adapted)
