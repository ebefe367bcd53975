"""Finding out what happens: prints in a graph, errors at your line, breakpoints, and why a call traced again.

The debugger session is scripted, so that the example runs by itself: leave `breakpointhook` out, and type.
"""
from __future__ import annotations

import io
import pdb
import sys

import autograph as ag
import runtime as rt


def scripted(commands):
    """What `breakpoint()` does from now on: stop there, and take these commands."""
    debugger = pdb.Pdb(stdin=io.StringIO("\n".join(commands)), stdout=sys.stdout, nosigint=True, readrc=False)
    debugger.use_rawinput = False
    sys.breakpointhook = lambda: debugger.set_trace(sys._getframe(1))


@rt.function
def halvings(n):
    steps = 0
    while n > 1:
        print("n is", n)
        n = n // 2
        steps += 1
    return steps


@rt.function
def stepped(n):
    steps = 0
    while n > 1:
        breakpoint()
        n = n // 2
        steps += 1
    return steps


@rt.function
def pick(table, index):
    if index > 0:
        return table[index]
    return table[0]


if __name__ == "__main__":
    print("--- `print` of a tensor prints when the graph runs, each time")
    print("steps:", halvings(rt.constant(10)).numpy())

    print("\n--- An error in a graph names the line of the op")
    try:
        pick(rt.constant([1, 2, 3]), rt.constant(7))
    except rt.errors.InvalidArgumentError as error:
        print(error)

    print("\n--- Eagerly, the function is plain Python: the debugger stops in it and sees values")
    scripted(["p n, steps", "next", "p n, steps", "continue", "p n, steps", "continue"])
    rt.config.run_functions_eagerly(True)
    print("steps:", stepped(rt.constant(4)))
    rt.config.run_functions_eagerly(False)

    print("\n--- Converted code runs on your own lines, so breakpoints hold in it, too")
    scripted(["p n, steps", "continue"] * 2)
    print("steps:", ag.convert(stepped.python_function)(4))

    print("\n--- Why did that call trace again?")
    halvings(rt.constant(2.0))
    print(halvings.explain())

    print("\n--- Which statements can become graph, and by which rule")
    print(ag.explain(halvings))
