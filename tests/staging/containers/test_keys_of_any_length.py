"""Text that the graph makes, and tuples of whose length only it knows, as keys of dicts and items of sets."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, var-annotated"
from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from typing import Any

import pytest
from traced_once import on
from ways import HAS_LLVM

import runtime as rt
from runtime.errors import StagingError
from tests.plain_values import collecting, plain

EXECUTORS = ["numpy", *(["native"] if HAS_LLVM else [])]
PROGRAMS: list[Any] = []
ITEMS = [1, 2, 3, 1, 2, 3, 1, 2]
program = collecting(PROGRAMS)


@program(0, 1, 7)
def last_places(n):
    found = {}
    for i in range(n):
        found[f"{i % 3}"] = i
    return found, len(found), "0" in found, found.get("2", -1)


@program(20)
def counts_of_pairs(n):
    counts = {}
    for i in range(n):
        key = f"{i % 3},{i % 2}"
        counts[key] = counts.get(key, 0) + 1
    best = 0
    for key in counts:
        if counts[key] > best:
            best = counts[key]
    return best, counts


@program(0, 40)
def seen_before(n):
    seen, again = set(), 0
    for i in range(n):
        key = f"{i * i % 19}"
        if key in seen:
            again += 1
        seen.add(key)
    return again, len(seen), seen


@program(9)
def boards(n):
    board, seen, again = list("abcd"), set(), 0
    for i in range(n):
        board[i % 4], board[(i * 3 + 1) % 4] = board[(i * 3 + 1) % 4], board[i % 4]
        key = "".join(board)
        if key in seen:
            again += 1
        seen.add(key)
    return again, len(seen)


@program(3, 6)
def made_beside_known(n):
    found = {"a": 1}
    for i in range(n):
        found[f"x{i}"] = i
    return sum(found.values()), "x3" in found, "a" in found, "b" in found, found.get("x2", -1)


@program(7)
def one_of_known_words_then_made(n):
    words, found = ["ab", "c", "ab", "d"], {}
    for i in range(n):
        found[words[i % 4]] = found.get(words[i % 4], 0) + 1
    found[f"{n}"] = 7
    return found, "ab" in found, found["c"]


@program(1, 3)
def on_two_paths(n):
    found = {}
    if n > 2:
        found["big"] = 1
    else:
        found[f"{n}"] = 2
    return found


@program(1, 6)
def items_on_two_paths(n):
    found = set()
    for i in range(n):
        if i % 2 == 0:
            found.add("even")
        else:
            found.add(f"odd{i}")
    found.discard("odd3")
    return found, len(found), "odd1" in found, "odd3" in found


@program(3)
def known_words_on_two_paths(n):
    found = set()
    for i in range(n):
        if i % 2 == 0:
            found.add("even")
        else:
            found.add("odd")
    return found


@program(5)
def added_to_known_words(n):
    found = {"a", "b"}
    for i in range(n):
        found.add(f"c{i % 2}")
    return len(found), "a" in found, sorted(found)


@program(17, 40)
def deleted(n):
    found = {}
    for i in range(n):
        found["k" + str(i % 7)] = i
        if i % 3 == 0 and f"k{i % 5}" in found:
            del found[f"k{i % 5}"]
        found.pop(f"k{i % 4}", None)
    return found, list(found.items())


@program(9)
def last_used(n):
    found = OrderedDict()
    for i in range(n):
        key = f"{i % 4}"
        if key in found:
            found.move_to_end(key)
        found[key] = i
        if len(found) > 3:
            found.popitem(last=False)
    return list(found.items())


@program(7)
def of_collections(n):
    counts, groups = Counter(), defaultdict(list)
    for i in range(n):
        counts[f"{i % 3}"] += 1
        groups[f"{i % 2}"].append(i)
    return dict(counts), dict(groups)


@program(4)
def lists_as_values(n):
    found = {}
    for i in range(n):
        found[f"{i}"] = [i]
        found.setdefault(f"{i % 2}", []).append(-i)
    return found


@program(3)
def operators(n):
    a, b = {f"{n}": 1, "x": 2}, {"x": 3, f"{n + 1}": 4}
    a.update(b)
    c = a | {"q": 1}
    return a, c, a == {"3": 1, "x": 3, "4": 4}, a == c


@program(9)
def operators_of_sets(n):
    s, t = {f"{i % 3}" for i in range(n)}, {f"{i % 4}" for i in range(n)}
    return sorted(s | t), sorted(s & t), sorted(t - s), s <= t, len(s ^ t), s == t


@program(4)
def inverted(n):
    squares = {f"{i}": i * i for i in range(n)}
    return squares, {v: k for k, v in squares.items()}


@program(3)
def missing(n):
    found = {}
    for i in range(n):
        found[f"{i}"] = 1
    try:
        return found["zz"], ""
    except KeyError as error:
        return len(found), str(error)


@program(3)
def until_seen(n):
    seen, x, steps = {}, 1, 0
    while f"{x}" not in seen:
        seen[f"{x}"] = steps
        x = (x * 7 + n) % 31
        steps += 1
    return steps - seen[f"{x}"], steps


@program(7)
def links(n):
    following = {}
    for i in range(n):
        following[f"n{i}"] = f"n{(i * 2) % n}"
    at = "n1"
    for _ in range(3):
        at = following[at]
    return at


@program(7)
def memo(n):
    known = {}

    def fib(k):
        key = f"f{k}"
        if key in known:
            return known[key]
        found = k if k < 2 else fib(k - 1) + fib(k - 2)
        known[key] = found
        return found

    return fib(n), len(known)


# Tuples

@program(9)
def beginnings(n):
    seen = set()
    for i in range(n):
        seen.add(tuple(ITEMS[:i % 4]))
    return seen, len(seen), (1, 2) in seen, () in seen, (1,) in seen, (2,) in seen


@program(8)
def parts(n):
    counts = {}
    for i in range(n):
        for j in range(i):
            t = tuple(ITEMS[j:i])
            counts[t] = counts.get(t, 0) + 1
    longest = 0
    for t, count in counts.items():
        if count > 1 and len(t) > longest:
            longest = len(t)
    return longest, len(counts), counts[(1, 2)], counts


@program(0, 5)
def paths(n):
    lengths, path = {(): 0}, ()
    for i in range(n):
        path = path + (i,)
        lengths[path] = len(path)
    return lengths, lengths[()], (5, 6) in lengths, (0,) in lengths


@program(6)
def of_text(n):
    found = {}
    for i in range(n):
        found[("a",) * (i % 3) + (f"{i % 2}",)] = i
    return found


@program(5)
def with_parts_of_any_length(n):
    found = {("x", 1): 5}
    for i in range(n):
        found["x" if i % 2 == 0 else f"y{i}", i % 3] = i
    nested = {}
    for i in range(n):
        nested[i, (i % 2,) * (i % 3)] = i
    return found, ("x", 2) in found, nested, (2, (0, 0)) in nested


@program(4)
def of_two_lengths(n):
    found = set()
    for i in range(n):
        if i % 2 == 0:
            found.add((1, i))
        else:
            found.add((i,))
    return len(found), (3,) in found, (1, 0) in found, found


@program(2, 3)
def looked_up_among_known_lengths(n):
    known, grown = {(1, 1): 1}, {}
    for i in range(n):
        grown[i, 2] = i
    key = (1,) + (2,) * (n - 2)
    return known.get((1,) * n, 0), key in known, grown.get(key, -1)


@program(4)
def of_floats(n):
    found = {}
    for i in range(n):
        found[(0.5 * i,) * (i % 2 + 1)] = i
    return found, (0, 0) in found, (1, 1) in found, (0,) in found, (1.5, 1.5) in found


@program(4)
def floats_among_ints(n):
    found = {}
    for i in range(n):
        found[(i,) * i] = i
    return (2.0, 2.0) in found, (2.5, 2.5) in found, found.get((1.0,), 7)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn, n", PROGRAMS)
def test_programs(fn: Any, n: int, executor: str) -> None:
    assert plain(on(executor, fn)(rt.constant(n))) == fn(n)


def test_order_of_tuples_in_sets_is_refused() -> None:
    def f(n):
        found = set()
        for i in range(n):
            found.add((i,) * i)
        return [len(t) for t in found]

    with pytest.raises(StagingError, match="the order of a set whose items only the graph knows is not that of Python"):
        rt.function(f)(rt.constant(3))


@pytest.mark.parametrize("fn", [lambda d, t: d.get(t), lambda d, t: t in d])
def test_floats_beside_ints_are_refused(fn: Any) -> None:
    def f(n):
        found = {}
        for i in range(n):
            found[(i,) * i] = i
        return fn(found, (0.5 * n,) * n)

    with pytest.raises(StagingError, match=r"is used here in a dict with keys of the type weak int32\[\?\]"):
        rt.function(f)(rt.constant(3))
