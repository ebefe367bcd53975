"""heapq and bisect: items end in the very places where Python's functions put them."""
from __future__ import annotations

import bisect
import heapq

from programs import program


@program(([5, 3, 8, 1, 9, 2, 3],), ([4],))
def push_and_pop(xs):
    heap = []
    for x in xs:
        heapq.heappush(heap, x)
    out = []
    while heap:
        out.append(heapq.heappop(heap))
    return out


@program(([5, 3, 8, 1, 9, 2, 3],), ([4],), ([2, 1],))
def the_places_of_items(xs):
    heap = []
    for x in xs:
        heapq.heappush(heap, x)
    return heap


@program((5, 3, 8, 1), (1, 1, 0, 1))
def heapify(a, b, c, d):
    heap = [a, b, c, d, a + 1, b - 1, c - 2]
    heapq.heapify(heap)
    first = heapq.heappop(heap)
    return heap, first


@program((5, 3), (0, 9), (4, 4))
def exchanges(a, b):
    heap = [3, a + 3, b + 4]
    heapq.heapify(heap)
    one, other = heapq.heappushpop(heap, a), heapq.heapreplace(heap, b)
    return heap, one, other, heapq.heappushpop([], a)


@program((7,), (20,))
def a_heap_of_python_numbers(n):
    heap, total = [5, 3, 8], 0
    heapq.heapify(heap)
    while heap:
        total += heapq.heappop(heap) * n
        if total > 50:
            break
    return total, len(heap)


@program(([[0, 4, 1, 99], [4, 0, 2, 5], [1, 2, 0, 8], [99, 5, 8, 0]], 0))
def shortest_ways(weights, start):
    count = len(weights)
    distances = [1000] * count
    distances[start] = 0
    heap = [(0, start)]
    while heap:
        distance, place = heapq.heappop(heap)
        if distance > distances[place]:
            continue
        for other in range(count):
            found = distance + weights[place][other]
            if found < distances[other]:
                distances[other] = found
                heapq.heappush(heap, (found, other))
    return distances


@program(([5, 3, 8, 1, 9],))
def largest_and_smallest(xs):
    items = [x for x in xs]
    return heapq.nlargest(2, items), heapq.nsmallest(3, items), heapq.nlargest(2, items, key=lambda x: -x), (
        heapq.nsmallest(-1, [1, 2]))


@program((0,), (1,))
def pop_of_nothing(n):
    heap = [n]
    heapq.heappop(heap)
    try:
        if n > 0:
            heapq.heappop(heap)
    except IndexError:
        return "empty"
    return "not asked"


@program(([1, 3, 3, 7], 3), ([1, 3, 3, 7], 8), ([2], 0))
def places(xs, x):
    items = [v for v in xs]
    return bisect.bisect_left(items, x), bisect.bisect_right(items, x), bisect.bisect(items, x, 1), (
        bisect.bisect_left(items, x, 0, 1))


@program((4,), (-2,))
def places_by_key(x):
    items = [(1, 9), (3, x), (6, 0)]
    return bisect.bisect_left(items, x, key=lambda item: item[0]), bisect.bisect([-3, 0, x + 9], x)


@program((-1,), (1,))
def a_start_that_is_none(low):
    try:
        return bisect.bisect_left([1, 2, 3], 2, low)
    except ValueError:
        return -5


@program(([5, 3, 8, 1, 9, 3],))
def insertion(xs):
    out = []
    for x in xs:
        bisect.insort(out, x)
    return out


@program((3,), (9,))
def insertion_on_a_side(x):
    left, right = [1, 3, 5], [1, 3, 5]
    bisect.insort_left(left, x)
    bisect.insort_right(right, x)
    return left, right


@program((3,))
def no_list(n):
    try:
        heapq.heappush((1, 2), n)
    except TypeError:
        return "no list"


@program((3, 1),)
def of_a_tuple(a, b):
    return heapq.nlargest(2, (a, b, 2)), bisect.bisect((1, 2, 3), a)
