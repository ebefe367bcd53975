"""Tuples that are put into others of their kind, to a depth that only the graph knows."""
from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt
from runtime.staging.elements.describe import describe
from runtime.staging.elements.nesting import check_nesting
from tests.plain_values import executors
from tests.traced_once import on


def merged(weights, leaf):
    """Huffman's algorithm, of trees that are tuples."""
    heap = []
    for number in range(len(weights)):
        heapq.heappush(heap, (weights[number], number, leaf(number)))
    number = len(weights)
    while len(heap) > 1:
        first, _, left = heapq.heappop(heap)
        second, _, right = heapq.heappop(heap)
        heapq.heappush(heap, (first + second, number, (left, right)))
        number += 1
    return heap[0]


def of_numbers(weights):
    return merged(weights, lambda number: number)


def of_tuples(weights):
    return merged(weights, lambda number: (number,))


def of_none(weights):
    heap = []
    number = 0
    for weight in weights:
        heapq.heappush(heap, (weight, number, None))
        number += 1
    while len(heap) > 1:
        first, one, left = heapq.heappop(heap)
        second, other, right = heapq.heappop(heap)
        heapq.heappush(heap, (first + second, number, ((one, left), (other, right))))
        number += 1
    return heap[0][0]


def of_nones_in_pairs(weights):
    heap = []
    for number in range(len(weights)):
        heapq.heappush(heap, (weights[number], number, None))
    number = len(weights)
    while len(heap) > 1:
        one, other = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, (one[0] + other[0], number, (one[2], other[2])))
        number += 1
    return heap[0][0]


def of_lists(weights):
    heap = [[weight, number, None, None] for number, weight in enumerate(weights)]
    heapq.heapify(heap)
    number = len(heap)
    while len(heap) > 1:
        one, other = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, [one[0] + other[0], number, one, other])
        number += 1
    return heap[0][0]


def of_sorted_lists(weights):
    trees = [[weight, [number]] for number, weight in enumerate(weights)]
    while len(trees) > 1:
        trees.sort()
        one, other = trees[0], trees[1]
        trees = trees[2:] + [[one[0] + other[0], [one, other]]]
    return trees[0][0]


def tree(depth):
    return None if depth == 0 else (tree(depth - 1), tree(depth - 1))


def size(node):
    return 0 if node is None else 1 + size(node[0]) + size(node[1])


def of_depth(depth):
    return size(tree(depth))


def dicts(depth):
    return {} if depth == 0 else {"left": dicts(depth - 1), "right": dicts(depth - 1)}


def pairs(values):
    stack = None
    for value in values:
        stack = (value, stack)
    return stack


@pytest.mark.parametrize(("program", "argument", "message"), [
    (of_numbers, [5, 9, 12, 13, 16, 45], "it has a tuple where these have none, or one of another length"),
    (of_tuples, [5, 9, 12, 13], "it has a tuple where these have none, or one of another length"),
    (of_none, [5, 9, 12, 13], "each iteration of this loop puts the tuples that it has made into others, to a depth"),
    (of_nones_in_pairs, [5, 9, 12, 13], "each iteration of this loop puts the tuples that it has made into others"),
    (of_lists, [5, 9, 12, 13], "an element of another structure than the others of this list"),
    (of_sorted_lists, [5, 9, 12, 13], "an element of another structure than the others of this list"),
    (dicts, 4, "each call of 'dicts', which calls itself, puts the dicts that it has made into others, to a depth"),
    (pairs, [1, 2], "each iteration of this loop links one more tuple to those before"),
    (of_depth, 4, "each call of 'tree', which calls itself, puts the tuples that it has made into others, to a depth"),
])
@executors
def test_the_remedy_is_a_class(program: Callable[..., Any], argument: Any, message: str, executor: str) -> None:
    with pytest.raises(rt.errors.StagingError, match=message) as info:
        rt.function(program, executor=executor)(rt.constant(argument))
    assert __file__ in str(info.value)
    assert str(info.value).endswith("Make a class in place of these, whose objects have the parts as attributes,"
                                    " None where there is none: objects may refer to others of their class.")


class Node:
    def __init__(self, weight, number, left=None, right=None):
        self.weight, self.number, self.left, self.right = weight, number, left, right

    def __lt__(self, other):
        return (self.weight, self.number) < (other.weight, other.number)


def of_objects(weights):
    heap = []
    for number, weight in enumerate(weights):
        heapq.heappush(heap, Node(weight, number))
    number = len(heap)
    while len(heap) > 1:
        left, right = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, Node(left.weight + right.weight, number, left, right))
        number += 1
    lengths = [0] * len(weights)
    put_lengths(heap[0], 0, lengths)
    return lengths


def put_lengths(node, depth, lengths):
    if node.left is None:
        lengths[node.number] = depth
    else:
        put_lengths(node.left, depth + 1, lengths)
        put_lengths(node.right, depth + 1, lengths)


@executors
def test_that_remedy(executor: str) -> None:
    weights = [5, 9, 12, 13, 16, 45]
    found = on(executor, of_objects)(rt.constant(weights))
    assert [int(x) for x in found] == of_objects(weights) == [4, 4, 3, 3, 3, 1]


def test_types_that_settle() -> None:
    """A tuple in place of None, and one of tuples in place of one of numbers, are no growth by themselves."""
    pair, pairs = (rt.constant(1), rt.constant(2)), ((rt.constant(1),), (rt.constant(2),), (rt.constant(3),))
    for before, now in ((None, (pair, pair)), ((None, None), (pair, pair)), (pairs, pairs), (pair, (pair, 1))):
        check_nesting(describe(before), describe(now), "this")
    with pytest.raises(rt.errors.StagingError, match="this puts the tuples of 'x' that it has made into others"):
        check_nesting(describe((pairs, 1)), describe(((pairs, pairs), 1)), "this", "x")
