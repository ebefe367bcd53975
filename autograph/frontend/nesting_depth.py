"""The line where a source text nests deepest, for errors about nesting."""
from __future__ import annotations

import ast
import io
import tokenize
import warnings

from autograph.core.deep_stack import with_room

__all__ = ["deepest_line"]


def deepest_line(text: str) -> int:
    """The line where `text` nests deepest: by its tree, or, if it does not parse, by brackets, blocks and operators."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = with_room(lambda: ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _by_tokens(text)
    deepest, line = 0, 1
    stack: list[tuple[ast.AST, int, int]] = [(tree, 0, 1)]
    while stack:
        node, depth, lineno = stack.pop()
        lineno = getattr(node, "lineno", lineno)
        if depth > deepest:
            deepest, line = depth, lineno
        stack += [(child, depth + 1, lineno) for child in ast.iter_child_nodes(node)]
    return line


def _by_tokens(text: str) -> int:
    deepest, line, nested, operators = 0, 1, 0, 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            opens = token.type == tokenize.INDENT or token.string in ("(", "[", "{")
            closes = token.type == tokenize.DEDENT or token.string in (")", "]", "}")
            nested += opens - closes
            unary = token.string in ("-", "+", "~", "not", "await", "lambda", ":")
            operators = operators + 1 if unary else 0
            if nested + operators > deepest:
                deepest, line = nested + operators, token.start[0]
    except (SyntaxError, tokenize.TokenError, RecursionError, MemoryError):
        pass  # what was read so far nests too deeply already
    return line
