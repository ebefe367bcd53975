"""Makes a program that fails smaller, as long as it fails in the same manner."""
from __future__ import annotations

import ast
import copy
import warnings
from collections.abc import Callable, Iterator

__all__ = ["shrink"]


def shrink(text: str, fails: Callable[[str], bool], tries: int = 600) -> str:
    """The smallest text found for which `fails` holds: without statements, blocks and parts of expressions."""
    best = ast.unparse(ast.parse(text))
    if not fails(best):
        return text
    smaller = True
    while smaller and tries > 0:
        smaller = False
        for candidate in _smaller(ast.parse(best)):
            tries -= 1
            if tries < 0:
                break
            if len(candidate) < len(best) and "def program(" in candidate and _compiles(candidate) and fails(candidate):
                best, smaller = candidate, True
                break
    return best


def _compiles(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compile(text, "<program>", "exec")
    except (SyntaxError, SyntaxWarning):
        return False
    return True


def _smaller(tree: ast.Module) -> Iterator[str]:
    """The program with one part less, largest parts first."""
    sizes = sorted(_edits(tree), key=lambda edit: -edit[0])
    for _, path, field, index, replacement in sizes:
        changed = copy.deepcopy(tree)
        node: ast.AST = changed
        for name, position in path:
            value = getattr(node, name)
            node = value if position is None else value[position]
        if index is None:
            setattr(node, field, replacement)
        else:
            items = getattr(node, field)
            items[index:index + 1] = replacement
            if not items and field == "body":
                items.append(ast.Pass())
        yield ast.unparse(ast.fix_missing_locations(changed))


Path = tuple[tuple[str, "int | None"], ...]
Edit = tuple[int, Path, str, "int | None", object]


def _edits(node: ast.AST, path: Path = ()) -> Iterator[Edit]:
    for field, value in ast.iter_fields(node):
        if isinstance(value, list):
            for index, item in enumerate(value):
                if not isinstance(item, ast.AST):
                    continue
                if isinstance(item, (ast.stmt, ast.ExceptHandler, ast.match_case, ast.withitem)):
                    size = len(ast.unparse(item))
                    if not isinstance(item, ast.Pass):
                        yield size, path, field, index, []
                    for block in ("body", "orelse", "finalbody"):
                        inner = getattr(item, block, None)
                        if isinstance(item, ast.stmt) and isinstance(inner, list) and inner:
                            yield size - sum(len(ast.unparse(s)) for s in inner), path, field, index, inner
                elif isinstance(item, ast.expr):
                    yield from _simpler(item, path, field, index)
                yield from _edits(item, (*path, (field, index)))
        elif isinstance(value, ast.AST):
            if isinstance(value, ast.expr):
                yield from _simpler(value, path, field, None)
            yield from _edits(value, (*path, (field, None)))


def _simpler(node: ast.expr, path: Path, field: str, index: int | None) -> Iterator[Edit]:
    size = len(ast.unparse(node))
    if size < 3 or field == "func" or isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
        return
    parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    for part in (*parts, ast.Constant(1), ast.Constant(True)):
        yield size - len(ast.unparse(part)), path, field, index, part if index is None else [part]
