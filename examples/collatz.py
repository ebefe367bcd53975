"""A loop that a tensor decides: how many Collatz steps it takes from n down to 1.

`longest` calls `collatz` without a decorator: callees convert by themselves, however deep.
"""
from __future__ import annotations

import autograph as ag
import runtime as rt


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@rt.function
def longest(limit):
    """The start below `limit` that takes most steps, and how many."""
    best, most = 1, 0
    for n in range(1, limit):
        steps = collatz(n)
        if steps > most:
            best, most = n, steps
    return best, most


if __name__ == "__main__":
    print(ag.to_code(collatz))

    best, most = longest(rt.constant(100))  # loops run in the graph: Python sees one call
    print(f"below 100, {best} takes longest: {most} steps")

    assert longest.python_function(100) == (best, most)  # the same text, as plain Python
    print(f"traced {longest.experimental_get_tracing_count()} time; another limit, same graph:",
          *(int(x) for x in longest(rt.constant(30))))
