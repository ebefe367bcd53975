"""Paths from a variable to a part of its value, as text and as steps: `self.d['k'][i]`."""
from __future__ import annotations

import ast
import functools
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["ITEMS", "Path", "name_of", "numbered", "path_of", "unnumbered"]

Path = tuple[Any, ...]
"""A variable, then steps: `(".", attribute)`, `("[]", key)`, or `("[name]", variable)` for a key held by a variable."""
ITEMS = ("[:]", None)
"""The last step of `self.grid[:]`: items that have no static name, since their keys are computed."""


@functools.lru_cache(maxsize=4096)
def path_of(name: str) -> Path:
    """`"self.d['k'][i]"` as `('self', ('.', 'd'), ('[]', 'k'), ('[name]', 'i'))`."""
    try:
        return _parsed(name)
    except (SyntaxError, ValueError):  # the text of a key is no literal, such as that of a member of an Enum
        end = name.rindex("[", 0, name.find("[<") + 1 or None)
        return *path_of(name[:end]), ("[name]", name[end + 1:-1])


def _parsed(name: str) -> Path:
    node: ast.expr = ast.parse(name, mode="eval").body
    steps: list[tuple[str, Any]] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            steps.append((".", node.attr))
        else:
            assert isinstance(node, ast.Subscript), name
            key = node.slice
            if isinstance(key, ast.Slice):
                steps.append(ITEMS)
            else:
                steps.append(("[name]", key.id) if isinstance(key, ast.Name) else ("[]", ast.literal_eval(key)))
        node = node.value
    return node.id, *reversed(steps)


def name_of(path: Sequence[Any]) -> str:
    """The text of a path."""
    root, *steps = path
    ends = {".": ".{}", "[]": "[{!r}]", "[name]": "[{}]", ITEMS[0]: ITEMS[0]}
    return "".join([root, *(ends[kind].format(key) for kind, key in steps)])


def numbered(name: str, number: int) -> str:
    """`name` with a number, for one of several variables of that name in different functions."""
    return f"{name}__{number}"


@functools.lru_cache(maxsize=4096)
def unnumbered(name: str) -> str:
    """The user's name of a variable, without the number that `numbered` appended."""
    return re.sub(r"(?<=\w)__\d+\b", "", name, count=1)
