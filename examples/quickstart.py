"""The main job, end to end: an ordinary Python function with nested loops, `break` and an early `return` becomes a
graph, shows itself, and runs on a record of the sky.

    python examples/quickstart.py
"""
from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

import autograph as ag
import runtime as rt

# Sunspots seen in each year from 1700 to 1849 (yearly means, Royal Observatory of Belgium).
SUNSPOTS = """
  5 11 16 23 36 58 29 20 10 8 3 0 0 2 11 27 47 63 60 39 28 26 22 11 21 40 78 122 103 73 47 35 11 5 16 34 70 81 111 101
  73 40 20 16 5 11 22 40 60 80.9 83.4 47.7 47.8 30.7 12.2 9.6 10.2 32.4 47.6 54 62.9 85.9 61.2 45.1 36.4 20.9 11.4 37.8
  69.8 106.1 100.8 81.6 66.5 34.8 30.6 7 19.8 92.5 154.4 125.9 84.8 68.1 38.5 22.8 10.2 24.1 82.9 132 130.9 118.1 89.9
  66.6 60 46.9 41 21.3 16 6.4 4.1 6.8 14.5 34 45 43.1 47.5 42.2 28.1 10.1 8.1 2.5 0 1.4 5 12.2 13.9 35.4 45.8 41.1 30.1
  23.9 15.6 6.6 4 1.8 8.5 16.6 36.3 49.6 64.2 67 70.9 47.8 27.5 8.5 13.2 56.9 121.5 138.3 103.2 85.7 64.6 36.7 24.2 10.7
  15 40.1 61.5 98.5 124.7 96.3
"""


def lasting_peak(values, years):
    """Index of the first value that none of the next `years` values surpasses, or -1."""
    for start in range(len(values)):
        for lasted, later in enumerate(values[start + 1:], 1):
            if later > values[start]:
                break
            if lasted == years:
                return start
    return -1


def main() -> None:
    print("--- What you write\n")
    print(inspect.getsource(lasting_peak))

    print("--- What it becomes: every `if` and `for` is a call that a tensor can take over\n")
    print(ag.to_code(lasting_peak))

    # A series of any length: the unknown dimension keeps the loops loops. One trace serves all calls.
    series, scalar = rt.TensorSpec([None], rt.float32), rt.TensorSpec([], rt.int32)
    peak = rt.function(lasting_peak, input_signature=[series, scalar])

    print("--- The graph that tracing it gives\n")
    print(peak.get_concrete_function().graph)

    sunspots = [float(number) for number in SUNSPOTS.split()]
    converted = ag.convert(lasting_peak)
    tensor, years = rt.constant(sunspots), rt.constant(60)
    found = int(peak(tensor, years))
    assert found == converted(sunspots, 60) == lasting_peak(sunspots, 60)
    print(f"\n--- On {len(sunspots)} years of sunspots: {1700 + found}, with {sunspots[found]} of them,"
          " stood for 60 years\n")

    original = milliseconds(lambda: lasting_peak(sunspots, 60))
    for name, run in {
        "your function, in Python": lambda: lasting_peak(sunspots, 60),
        "converted, on Python numbers": lambda: converted(sunspots, 60),
        "graph, as one native function": lambda: peak(tensor, years),
    }.items():
        took = milliseconds(run)
        print(f"{name:34}{took:8.3f} ms {took / original:7.1f} x")
    print("\nWithout llvmlite the graph runs on NumPy, one call per op: on scalars that is slower than Python.")


def milliseconds(run: Callable[[], Any], repeat: int = 9) -> float:
    """The median time of a call."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return sorted(times)[repeat // 2] * 1e3


if __name__ == "__main__":
    main()
