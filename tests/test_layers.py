"""Imports run one way: autograph knows nothing of runtime, folders import those above them, no package has a cycle, no
import hides in a function, a string or what another module fills later. Files and functions are not too large."""
from __future__ import annotations

import ast
import functools
import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

import runtime.staging.backend  # noqa: F401 - defines what is declared
from autograph.dispatch import converted_call
from runtime.core import operations, public_names
from runtime.staging.elements import select
from runtime.staging.values.arrays_in_lists import PUTS

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("autograph", "runtime")
FACES = (*PACKAGES, "runtime.keras.backend")
"""Packages whose `__init__` is what others import of them: of users, and of Keras."""
INSIDE_FUNCTIONS: dict[tuple[str, str], str] = {}
"""(module, imported): why this import has to run inside a function. Empty is the aim."""
FOLDERS = """
autograph/core
autograph/frontend
autograph/analysis
autograph/passes
autograph/dispatch
autograph/state
autograph/operators
autograph/codegen
autograph
autograph/printing
autograph/tools
runtime/core
runtime/ops
runtime/numpy
runtime/autodiff/rules
runtime/optimize
runtime/numbers
runtime/backends
runtime/backends/native/llvm
runtime/backends/native/abi
runtime/backends/native/libm
runtime/backends/native/codegen
runtime/backends/native/kernels
runtime/backends/native/kernels/matmul
runtime/backends/native/kernels/convolution
runtime/backends/native/loops
runtime/backends/native/control
runtime/backends/native/jit
runtime/staging/values
runtime/staging/aliases
runtime/staging/elements
runtime/staging/storage
runtime/staging/joins
runtime/staging/containers
runtime/staging/control
runtime/staging/python
runtime/staging
runtime/function/variables
runtime/function/arguments
runtime/function/state
runtime/function/execution
runtime/function/results
runtime/function
runtime/data
runtime/batching/rules
runtime/batching
runtime/autodiff
runtime/train
runtime/summary
runtime/profiler
runtime/saved_model
runtime
runtime/keras/backend
runtime/keras/backend/numpy
runtime/keras/backend/nn
runtime/keras/backend/image
runtime/keras
runtime/tools
""".split()
"""Each imports only from itself and from those above it. The folder of a package has its public modules: of autograph,
what converts; of runtime, the names that users import, which nothing below imports."""
LINES, BRANCHES = 60, 25
"""The most that a function has, without its docstring, functions inside of it included."""
STRAIGHT = 2
"""A function with no more branches than these decides nothing: it may be as long as what it writes or lists."""
UPWARD: set[tuple[str, str]] = set()
"""Pairs of folders of which the first imports the second though that is not above it: each is to be removed."""
UPWARD_FOR_TYPES: set[tuple[str, str]] = set()
"""The same, of imports for annotations alone (`if TYPE_CHECKING`)."""


def modules(package: str) -> dict[str, ast.Module]:
    """The modules of a package by dotted name."""
    return {dotted(path): ast.parse(path.read_text()) for path in sorted((ROOT / package).rglob("*.py"))}


def dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def trees() -> dict[str, ast.Module]:
    """The syntax trees of all modules of both packages, by dotted name."""
    return {name: tree for package in PACKAGES for name, tree in modules(package).items()}


@functools.cache
def nodes(tree: ast.Module) -> list[ast.AST]:
    """All nodes of a module."""
    return list(ast.walk(tree))


@pytest.fixture(scope="module", autouse=True)
def trees_are_freed() -> Iterator[None]:
    """After these tests: they are most of a worker's objects, which each collection of garbage goes through, so there
    is none before."""
    gc.disable()
    yield
    for cached in (trees, nodes, import_statements):
        cached.cache_clear()
    gc.enable()


@functools.cache
def is_package(name: str) -> bool:
    return (ROOT / name.replace(".", "/")).is_dir()


def imports(name: str, body: list[ast.stmt] | None = None) -> Iterator[tuple[str, ast.stmt]]:
    """What a module imports, by absolute name, outside functions and outside `if TYPE_CHECKING`."""
    for node in trees()[name].body if body is None else body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for target in targets(name, node):
                yield target, node
        elif is_for_types(node):
            yield from imports(name, node.orelse)
        elif deferred := deferred_by(node):
            yield from ((target, node) for target in deferred)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for _, block in ast.iter_fields(node):
                if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                    yield from imports(name, block)


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def deferred_by(node: ast.AST) -> list[str]:
    """What statements such as `native = deferred("runtime.backends.native.jit.executor")` import, by absolute name."""
    found = []
    for call in ast.walk(node) if isinstance(node, (ast.Assign, ast.Expr)) else ():
        function = ast.unparse(call.func) if isinstance(call, ast.Call) else ""
        if function == "deferred":
            found.append(str(ast.literal_eval(call.args[0])))
        elif function == "deferred_names":
            for module, listed in ast.literal_eval(call.args[1]).items():
                found += modules_of(module, [each.partition(" as ")[0] for each in listed])
    return found


def targets(name: str, node: ast.AST) -> list[str]:
    """What a statement imports, by absolute name."""
    if deferred := deferred_by(node):
        return deferred
    assert isinstance(node, (ast.Import, ast.ImportFrom))
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        up = name.split(".")
        up = up[: len(up) - node.level + is_package(name)]
        base = ".".join([*up, *([node.module] if node.module else [])])
    return modules_of(base, [alias.name for alias in node.names])


def modules_of(base: str, names: list[str]) -> list[str]:
    """What `from base import names` imports: submodules, and the module itself if other names are among these."""
    submodules = [f"{base}.{name}" for name in names if f"{base}.{name}" in trees()]
    return submodules if len(submodules) == len(names) else [base, *submodules]


def folder(name: str) -> str:
    """The folder that a module is in."""
    return (name if is_package(name) else name.rpartition(".")[0]).replace(".", "/")


@functools.cache
def import_statements(tree: ast.Module) -> list[tuple[ast.AST, bool]]:
    """All statements of a module that import something, each with whether it is for annotations alone."""
    statements = [node for node in nodes(tree) if isinstance(node, ast.stmt)]
    kept = {id(each) for node in statements if is_for_types(node) for each in ast.walk(node)}
    return [(node, id(node) in kept) for node in statements
            if isinstance(node, (ast.Import, ast.ImportFrom)) or deferred_by(node)]


def upward(for_types: bool) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Pairs of folders that import against the order, with the modules that do, wherever in these the import stands.

    The face of a package imports what it likes, and importing anything of a package imports its face: the
    `__init__` of `FACES`, and `__main__`, are left out.
    """
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for name, tree in trees().items():
        if name in FACES or name.endswith(".__main__"):
            continue
        for node, is_for_annotations in import_statements(tree):
            if is_for_annotations is for_types:
                for target in targets(name, node):
                    if target not in trees() or target in FACES:
                        continue
                    pair = folder(name), folder(target)
                    if FOLDERS.index(pair[1]) > FOLDERS.index(pair[0]):
                        found.setdefault(pair, set()).add((name, target))
    return found


def test_the_rule_sees_the_packages() -> None:
    assert {"autograph", "autograph.api", "autograph.operators", "runtime", "runtime.core.trace"} <= set(trees())
    assert "autograph.operators" in {target for target, _ in imports("autograph.api")}


def test_autograph_knows_no_runtime() -> None:
    outward = {
        (name, target) for name in trees() if name.split(".")[0] == "autograph" for target, _ in imports(name)
        if target.split(".")[0] in ("runtime", "numpy", "tests")
    }
    assert not outward


def test_runtime_imports_what_autograph_offers_to_backends() -> None:
    inward = {
        (name, target) for name in trees() if name.split(".")[0] == "runtime" for target, _ in imports(name)
        if target.split(".")[0] == "autograph" and target not in ("autograph", "autograph.backend")
    }
    assert not inward


def test_one_module_asks_for_the_version_of_python() -> None:
    asking = {name for name, tree in trees().items() for node in nodes(tree)
              if getattr(node, "attr", "") in ("version_info", "hexversion")}
    assert asking == {"autograph.core.versions"}


def test_every_folder_has_its_place() -> None:
    """Folders of nothing but a docstring have none, and need none."""
    assert len(FOLDERS) == len(set(FOLDERS))
    with_code = {folder(name) for name, tree in trees().items() if not is_package(name) or len(tree.body) > 1}
    assert with_code == set(FOLDERS)


@pytest.mark.parametrize("for_types, listed", [(False, UPWARD), (True, UPWARD_FOR_TYPES)], ids=["runs", "for types"])
def test_folders_import_those_above_them(for_types: bool, listed: set[tuple[str, str]]) -> None:
    found = upward(for_types)
    new = {pair: sorted(found[pair]) for pair in sorted(found.keys() - listed)}
    assert not new, f"folders that import against the order, and their modules: {new}"
    assert listed <= found.keys(), f"listed, but no longer there: {sorted(listed - found.keys())}"


def test_an_import_against_the_order_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant: an import in a function, and one for types."""
    text = ("if TYPE_CHECKING:\n    import runtime.function.variables.variable\n"
            "def f():\n    import runtime.data.dataset\n"
            "late = deferred('runtime.staging.backend')\n")
    monkeypatch.setitem(trees(), "runtime.core.op", ast.parse(text))
    assert {("runtime/core", "runtime/data"), ("runtime/core", "runtime/staging")} <= upward(False).keys()
    assert ("runtime/core", "runtime/function/variables") in upward(True)
    assert ("runtime/core", "runtime/function") not in upward(False)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_import_cycle(package: str) -> None:
    graph = {
        name: {t for t, _ in imports(name) if t in trees() and t.split(".")[0] == package and t != name}
        for name in trees() if name.split(".")[0] == package
    }
    if package == "runtime":  # `tf.keras` is written with `rt`, and loaded when it is asked for
        graph[package].discard("runtime.keras")
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            cycle = " -> ".join([*path[path.index(name):], name])
            pytest.fail(f"import cycle: {cycle}", pytrace=False)
        if name not in done:
            for target in sorted(graph[name]):
                visit(target, (*path, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())


def test_no_import_inside_a_function() -> None:
    hidden = {}
    for name, tree in trees().items():
        outside, pending = set(), list[ast.AST]([tree])
        while pending:
            node = pending.pop()
            outside.add(node)
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                pending += ast.iter_child_nodes(node)
        for node in nodes(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)) and node not in outside:
                for target in targets(name, node):
                    hidden[name, target] = node.lineno
    unexplained = {key: line for key, line in hidden.items() if key not in INSIDE_FUNCTIONS}
    assert not unexplained, f"imports inside functions (module, imported): line: {unexplained}"
    assert INSIDE_FUNCTIONS.keys() <= hidden.keys(), "an exception is listed that is no longer there"


def test_no_import_by_name() -> None:
    """Only `deferred` imports by a name, and the command that runs modules which its user names."""
    found = {name for name, tree in trees().items() for node in nodes(tree)
             if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__")}
    assert found == {"autograph.core.late_binding", "runtime.tools.cli"}


CHANGES = ("add", "append", "clear", "discard", "extend", "insert", "pop", "remove", "setdefault", "update")
"""Methods that change a container."""


def changed_while_imported(name: str) -> Iterator[str]:
    """What a module changes of another while it is imported: attributes and containers of what it imports from here.
    Calls of functions that other modules offer for that (`register`, `define`) can be followed, and are no such."""
    ours = {alias.asname or alias.name.split(".")[0] for node in nodes(trees()[name])
            if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names
            if any(target.split(".")[0] in PACKAGES for target in targets(name, node))}

    def root(node: ast.AST) -> str:
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        return node.id if isinstance(node, ast.Name) else ""

    pending: list[ast.AST] = list(trees()[name].body)
    while pending:
        node = pending.pop()
        changed = list(getattr(node, "targets", ())) + [getattr(node, "target", None)]
        if isinstance(node, ast.Call):
            method = node.func
            if isinstance(method, ast.Attribute) and method.attr in CHANGES:
                changed = [method]
            elif ast.unparse(method) == "setattr":
                changed = [ast.Attribute(node.args[0], "")]
        for each in changed:
            if isinstance(each, (ast.Attribute, ast.Subscript)) and root(each) in ours:
                yield f"{name}: {root(each)}"
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(node))


def test_no_module_changes_another_while_it_is_imported() -> None:
    """What lower modules call of higher ones is passed to them, or declared in a `Late`."""
    found = {each for name in trees() for each in changed_while_imported(name)}
    assert not found


def test_a_change_of_another_module_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = ("from runtime.core import trace\nfrom runtime.core.op import REGISTRY, Op\ntrace.hook = 1\n"
            "REGISTRY.update(a=1)\nOp.cache['a'] = 2\ndef later():\n    trace.other = 1\n")
    monkeypatch.setitem(trees(), "runtime.ops.planted", ast.parse(text))
    assert sorted(changed_while_imported("runtime.ops.planted")) == [
        "runtime.ops.planted: Op", "runtime.ops.planted: REGISTRY", "runtime.ops.planted: trace"]


def test_forward_declarations_are_few_and_defined() -> None:
    declared = {(name, node.name): [each.target.id for each in node.body if isinstance(each, ast.AnnAssign)
                                    and isinstance(each.target, ast.Name)]
                for name, tree in trees().items() for node in nodes(tree)
                if isinstance(node, ast.ClassDef) and [ast.unparse(base) for base in node.bases] == ["Late"]}
    instances = {("autograph.dispatch.converted_call", "Converter"): converted_call.CONVERTER,
                 ("runtime.core.operations", "Operations"): operations.OPERATIONS,
                 ("runtime.core.public_names", "PublicNames"): public_names.PUBLIC_NAMES,
                 ("runtime.staging.values.arrays_in_lists", "Puts"): PUTS,
                 ("runtime.staging.elements.select", "Selection"): select.SELECTION}
    assert declared.keys() == instances.keys()
    for key, names in declared.items():
        assert {name for name in names if not callable(getattr(instances[key], name))} == set(), key


def test_files_fit_in_the_head() -> None:
    """A file has one subject and about 500 lines at most (see the style page); 600 is the alarm."""
    long = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            lines = path.read_text().count("\n")
            if lines > 600:
                long[str(path.relative_to(ROOT))] = lines
    assert not long


def functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, int, int]]:
    """The functions of a module, with their lines and branches."""
    for node in nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
            yield node, ((node.end_lineno or 0) - body[0].lineno + 1 if body else 0), branches(node)


def branches(node: ast.AST) -> int:
    """How many ways there are to go on, less one: statements and expressions that choose, loops, `and` and `or`."""
    found = 0
    for each in ast.walk(node):
        if isinstance(each, (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.match_case)):
            found += 1
        elif isinstance(each, ast.comprehension):
            found += 1 + len(each.ifs)
        elif isinstance(each, ast.BoolOp):
            found += len(each.values) - 1
    return found


def too_large(tree: ast.Module) -> list[tuple[str, int, int]]:
    return [(node.name, lines, count) for node, lines, count in functions(tree)
            if count > BRANCHES or (lines > LINES and count > STRAIGHT)]


def test_functions_that_decide_fit_on_a_screen() -> None:
    found = {f"{module}: {name}": (lines, count)
             for module, tree in trees().items() for name, lines, count in too_large(tree)}
    assert not found, f"functions with more than {LINES} lines or {BRANCHES} branches: {found}"


def test_a_function_that_is_too_large_is_found() -> None:
    """Plant: one that is long, one with many branches, and one that only lists."""
    long = "def long(x):\n    'text'\n" + "    if x:\n        x += 1\n" * 3 + "    x += 1\n" * LINES
    branched = "def branched(x):\n    return x" + " or x" * (BRANCHES + 1) + "\n"
    straight = "def straight(x):\n" + "    x += 1\n" * (LINES + 1)
    assert [name for name, *_ in too_large(ast.parse(long + branched + straight))] == ["long", "branched"]
