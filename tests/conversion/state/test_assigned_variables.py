"""The free variables that code assigns, as its instructions tell."""
from __future__ import annotations

from typing import Any

from autograph.state.reachability import assigned_in


def test_free_variables_that_code_or_nested_code_assigns() -> None:
    def outer(argument: int) -> Any:
        a = b = c = d = 0

        def body(local: int) -> Any:
            nonlocal a, b
            a = local + c + argument
            del b

            def inner() -> None:
                nonlocal d, own
                d = own = 1
            own = inner
            return own
        return body, d

    body, _ = outer(0)
    assert assigned_in(body.__code__) == {"a", "b", "d"} and assigned_in(outer.__code__) == frozenset()


def test_instructions_with_large_arguments() -> None:
    names = [f"x{i}" for i in range(700)]
    lines = ["def outer():", *(f"    {name} = 0" for name in names), "    def body():",
             f"        nonlocal {', '.join(names)}", *(f"        {name}" for name in names),
             *(f"        {name} = 1" for name in names[::3]), "    return body"]
    namespace: dict[str, Any] = {}
    exec("\n".join(lines), namespace)
    assert assigned_in(namespace["outer"]().__code__) == set(names[::3])
