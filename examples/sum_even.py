"""One function, three kinds of input: a Python list, the rows of a tensor, a dataset that streams.

What kind of loop it is, is decided by what arrives: `ag__.reduce` runs Python's own loop over a list, and becomes a
`reduce` node of the graph over a tensor or a dataset.
"""
from __future__ import annotations

import autograph as ag
import runtime as rt


def sum_even(items):
    s = 0
    for c in items:
        if c % 2 > 0:
            continue
        s += c
    return s


if __name__ == "__main__":
    print(ag.to_code(sum_even))

    print("a list, in Python:   ", ag.convert(sum_even)([1, 2, 3, 4, 5, 6]))

    staged = rt.function(sum_even)
    print("a tensor, as a graph:", staged(rt.constant([1, 2, 3, 4, 5, 6])).numpy())

    dataset = rt.data.Dataset.range(1, 7)  # int64, one element at a time
    print("a dataset, as a graph:", staged(dataset).numpy())

    print("\nThe loop over the dataset:\n")
    print(staged.get_concrete_function(dataset).graph)
