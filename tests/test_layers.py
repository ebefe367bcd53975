"""Imports run one way: autograph knows nothing of runtime, no package has a cycle, no import hides in a function."""
from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("autograph", "runtime")
INSIDE_FUNCTIONS: dict[tuple[str, str], str] = {}
"""(module, imported): why this import has to run inside a function. Empty is the aim."""


def modules(package: str) -> dict[str, ast.Module]:
    """The modules of a package by dotted name."""
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = ast.parse(path.read_text())
    return found


MODULES = {name: tree for package in PACKAGES for name, tree in modules(package).items()}
IS_PACKAGE = {name for name in MODULES if (ROOT / name.replace(".", "/")).is_dir()}


def imports(name: str, body: list[ast.stmt] | None = None) -> Iterator[tuple[str, ast.stmt]]:
    """What a module imports, by absolute name, outside functions and outside `if TYPE_CHECKING`."""
    for node in MODULES[name].body if body is None else body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for target in targets(name, node):
                yield target, node
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from imports(name, node.orelse)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for _, block in ast.iter_fields(node):
                if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                    yield from imports(name, block)


def targets(name: str, node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        up = name.split(".")
        up = up[: len(up) - node.level + (name in IS_PACKAGE)]
        base = ".".join([*up, *([node.module] if node.module else [])])
    submodules = [f"{base}.{alias.name}" for alias in node.names if f"{base}.{alias.name}" in MODULES]
    return submodules if len(submodules) == len(node.names) else [base, *submodules]


def test_the_rule_sees_the_packages() -> None:
    assert {"autograph", "autograph.api", "autograph.operators", "runtime", "runtime.trace"} <= set(MODULES)
    assert "autograph.operators" in {target for target, _ in imports("autograph.api")}


def test_autograph_knows_no_runtime() -> None:
    outward = {
        (name, target) for name in MODULES if name.split(".")[0] == "autograph" for target, _ in imports(name)
        if target.split(".")[0] in ("runtime", "numpy", "tests")
    }
    assert not outward


@pytest.mark.parametrize("package", PACKAGES)
def test_no_import_cycle(package: str) -> None:
    graph = {
        name: {t for t, _ in imports(name) if t in MODULES and t.split(".")[0] == package and t != name}
        for name in MODULES if name.split(".")[0] == package
    }
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
    for name, tree in MODULES.items():
        for function in ast.walk(tree):
            if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for node in ast.walk(function):
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    for target in targets(name, node):
                        hidden[name, target] = node.lineno
    unexplained = {key: line for key, line in hidden.items() if key not in INSIDE_FUNCTIONS}
    assert not unexplained, f"imports inside functions (module, imported): line: {unexplained}"
    assert INSIDE_FUNCTIONS.keys() <= hidden.keys(), "an exception is listed that is no longer there"


def test_files_fit_in_the_head() -> None:
    """A file has one subject and about 500 lines at most (see the style page); 600 is the alarm."""
    long = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            lines = path.read_text().count("\n")
            if lines > 600:
                long[str(path.relative_to(ROOT))] = lines
    assert not long
