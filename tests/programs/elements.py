"""Lists and dicts with text, None, lists and tuples as elements."""
from __future__ import annotations

import collections

from programs import program


@program((15,), (1,), (0,))
def elements_fizzbuzz(n):
    out = []
    for i in range(1, n + 1):
        if i % 15 == 0:
            out.append("FizzBuzz")
        elif i % 3 == 0:
            out.append("Fizz")
        elif i % 5 == 0:
            out.append("Buzz")
        else:
            out.append(f"{i:d}")
    return out, " ".join(out)


@program(([3, 1, 2, 3],), ([0],), eager="an eager tensor has no hash")
def elements_grouped(xs):
    groups, names = collections.defaultdict(list), {}
    for x in xs:
        groups[x % 2].append(x)
        names[x] = "odd" if x % 2 else "even"
    for row in groups.values():
        row.reverse()
    return {k: sum(v) for k, v in groups.items()}, groups, names, sorted(names.values())


@program((6,), (1,))
def elements_memo(n):
    memo = [None] * (n + 1)
    memo[0] = 1
    for i in range(1, n + 1):
        if memo[i] is None:
            memo[i] = memo[i - 1] * 2
    return memo, [m for m in memo if m is not None]


@program(([1, 1, 2, 2, 2, 1],), ([4],))
def elements_run_lengths(xs):
    runs, previous, count = [], None, 0
    for x in xs:
        if previous is not None and x == previous:
            count += 1
        else:
            if previous is not None:
                runs.append((previous, count))
            previous, count = x, 1
    runs.append((previous, count))
    return runs


@program((4,), (2,), eager="an eager tensor has no hash")
def elements_graph_with_weights(n):
    graph, total = {}, 0
    for i in range(n):
        graph.setdefault(i, []).append(((i + 1) % n, 2 * i))
        graph.setdefault((i + 1) % n, []).append((i, 3))
    for i in range(n):
        for other, weight in graph[i]:
            total += other * weight
    return total, len(graph)


@program((4,), (1,))
def elements_sentences(n):
    out = []
    for i in range(n):
        words = []
        for j in range(i):
            words.append(f"{j:d}")
        out.append(words)
    out[0].append("first")
    return [" ".join(words) for words in out]


@program(([5, 12],), ([12, 3],))
def elements_none_is_returned(xs):
    def first_small(xs):
        for x in xs:
            if x > 10:
                return None
        return xs[0]

    found = first_small(xs)
    return found is None
