"""Lets Keras' tests make sparse tensors of this backend.

They make them in chains `if backend.backend() == "tensorflow": ... elif backend.backend() == "jax": ...`, with no place
for a backend of another package. This finder loads the tests with TensorFlow's branch of each such chain for this
backend, too, in which `tf` is this runtime: it has the same names. What they then check is as it was.
"""
from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from runtime.keras import released

__all__ = ["adapted", "install"]


def install() -> None:
    sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds Keras' tests and what they are made with."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("keras.src.") or not fullname.endswith(("_test", ".testing.test_case")):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(fullname, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        source = self.get_data(path)
        tree = released.adapted(fullname, source) if fullname in released.BRANCHES else ast.parse(source)
        code: Any = compile(adapted(tree), path, "exec", dont_inherit=True)
        return code  # type: ignore[no-any-return]


def adapted(tree: ast.Module) -> ast.Module:
    """A module of tests with TensorFlow's branches for this backend, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and _tests_for(node, "tensorflow") and any(
                isinstance(other, ast.If) and _tests_for(other, "jax") and _makes_sparse(other)
                for other in node.orelse):
            assert isinstance(node.test, ast.Compare)
            node.test.ops = [ast.In()]
            node.test.comparators = [ast.copy_location(ast.parse("('tensorflow', 'runtime')", mode="eval").body,
                                                       node.test)]
            node.body[:] = [_importing_runtime(each) for each in node.body]
            ast.fix_missing_locations(node)
    return tree


def _tests_for(node: ast.If, name: str) -> bool:
    return ast.unparse(node.test) == f"backend.backend() == {name!r}"


def _makes_sparse(node: ast.If) -> bool:
    return any(isinstance(each, (ast.Import, ast.ImportFrom)) and "jax.experimental" in ast.unparse(each)
               for each in node.body)


def _importing_runtime(node: ast.stmt) -> ast.stmt:
    """`import tensorflow as tf` as a choice by the backend; other statements as they are."""
    if ast.unparse(node) != "import tensorflow as tf":
        return node
    choice = ast.parse("if backend.backend() == 'runtime':\n import runtime as tf\nelse:\n import tensorflow as tf")
    return ast.copy_location(choice.body[0], node)
