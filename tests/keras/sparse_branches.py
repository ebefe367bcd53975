"""Lets Keras' tests make sparse tensors of this backend.

They make them in chains `if backend.backend() == "tensorflow": ... elif backend.backend() == "jax": ...`, with no place
for a backend of another package. This finder loads the tests with TensorFlow's branch of each such chain for this
backend, too, in which `tf` is this runtime: it has the same names. What they then check is as it was.
"""
from __future__ import annotations

import ast
import sys

from runtime.keras import released

__all__ = ["adapted", "install"]


def install() -> None:
    sys.meta_path.insert(0, released.Finder(_is_test, _adapted_source))


def _is_test(module: str) -> bool:
    return module.startswith("keras.src.") and module.endswith(("_test", ".testing.test_case"))


def _adapted_source(module: str, source: bytes) -> ast.Module:
    return adapted(released.adapted(module, source) if module in released.BRANCHES else ast.parse(source))


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
