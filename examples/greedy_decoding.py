"""Greedy decoding: take the likeliest next letter until the end mark, and leave the loop with `break`.

The "model" is a table of which letter follows which, counted from a few names of elements.
"""
from __future__ import annotations

import itertools

import numpy as np

import autograph as ag
import runtime as rt

NAMES = """
    argon boron carbon cobalt copper gold helium indium iodine iron krypton neon nickel radon silver xenon
"""
END = 26


def bigrams(words):
    """How often letter j follows letter i: float32[27, 27]; number 26 is the end of a word."""
    counts = np.zeros((27, 27), np.float32)
    for word in words:
        numbers = [ord(letter) - ord("a") for letter in word] + [END]
        for i, j in itertools.pairwise(numbers):
            counts[i, j] += 1
    return counts


@rt.function
def decode(follows, first, max_length):
    """The likeliest path from `first`, as a tensor of letters; no letter pair is used twice."""
    letters = [first]  # a list that grows in the graph
    letter = first
    for _ in range(max_length - 1):
        best = rt.argmax(follows[letter], output_type=rt.int32)
        if best == END or follows[letter, best] <= 0.0:
            break
        follows[letter, best] = 0.0  # on a tensor: a new value of `follows`
        letter = best
        letters.append(letter)
    return rt.stack(letters)


if __name__ == "__main__":
    table = rt.constant(bigrams(NAMES.split()))
    for letter in "cgknx":
        word = decode(table, rt.constant(ord(letter) - ord("a")), rt.constant(12))
        print(letter, "->", "".join(chr(ord("a") + number) for number in word.numpy()))
    print(f"\ntraced {decode.experimental_get_tracing_count()} time; the table is as it was: {table.numpy().sum()}\n")
    print(ag.to_code(decode))
