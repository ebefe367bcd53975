"""Python's lists and tuples with tensors: what `tests/programs/sequences.py` does not show, and what is refused."""
from __future__ import annotations

import collections
import re
from collections.abc import Callable
from typing import Any

import pytest
from ways import HAS_LLVM

import autograph as ag
import runtime as rt
from runtime.errors import DTypeError, OpError
from tests.traced_once import on

EXECUTORS = ["numpy", *(["native"] if HAS_LLVM else [])]


def staged(fn: Callable[..., Any], *args: Any) -> Any:
    """What a function gives as Python lists and numbers, on the executors, which agree."""
    found = [plain(on(executor, fn)(*args)) for executor in EXECUTORS]
    assert all(one == found[0] for one in found)
    return found[0]


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(plain(item) for item in x)
    return x.numpy().tolist() if hasattr(x, "numpy") else x


N = rt.constant(2)


def test_an_item_of_one_of_several_growing_lists_is_deleted() -> None:
    def grown(n):
        return [i for i in range(n)]

    def f(n):
        a, b = grown(n + 2), grown(3)
        one = a if n > 3 else b
        del one[0]
        return a, b, one

    assert staged(f, N) == ([0, 1, 2, 3], [1, 2], [1, 2])


# Repetition, and what stays arithmetic.

def test_eager_repetition_gives_pythons_own() -> None:
    assert [1, 2] * N == [1, 2, 1, 2] == N * [1, 2] and (0,) * N == (0, 0)
    assert [1] * -N == [] == [1] * rt.constant(False)
    xs = same = [1]
    xs *= N
    assert xs is same and same == [1, 1]
    assert [7] * rt.Variable(3) == [7, 7, 7] == rt.Variable(3, dtype=rt.int64) * [7]


def arithmetic(n, x, v):
    return [1.0, 2.0] * x, x * (1.0, 2.0), [1, 2] * v, v * [1, 2], rt.multiply([1, 2], n), rt.multiply(n, [1, 2])


def test_what_stays_arithmetic() -> None:
    arguments = N, rt.constant(2.0), rt.constant([3, 4])
    expected = ([2.0, 4.0], [2.0, 4.0], [3, 8], [3, 8], [2, 4], [2, 4])
    assert plain(arithmetic(*arguments)) == expected == staged(arithmetic, *arguments)


def test_a_known_number_gives_a_python_list() -> None:
    kinds = []

    def f(n):
        k = rt.constant(2)
        kinds.append([type([n] * k), type((n,) * k), type([0] * n)])
        return [n] * k

    assert staged(f, N) == [2, 2]
    assert [[kind.__name__ for kind in row] for row in kinds] == [["list", "tuple", "list"]]


def test_elements_of_several_shapes() -> None:
    def f(xs, n):
        rows = []
        for i in range(n):
            rows.append(xs[:i])
        rows = rows * n
        return len(rows), rows[2], rows[3], rows[5]

    assert staged(f, rt.constant([5, 6, 7]), rt.constant(3)) == (9, [5, 6], [], [5, 6])


class _Holder:
    def __init__(self) -> None:
        self.xs = [0, 1]


def in_place_of_an_attribute(n):
    holder = _Holder()
    same, held = holder.xs, {"a": [holder.xs]}
    holder.xs *= n
    same.append(n)
    rows = [same]
    rows[0] *= n
    return holder.xs, held["a"][0]


def test_in_place_all_names_see_it() -> None:
    assert staged(in_place_of_an_attribute, N) == (([0, 1] * 2 + [2]) * 2,) * 2


def in_place_in_a_loop(n):
    xs = [1]
    ys = xs
    for i in range(n):
        xs *= i + 1
        xs.append(i)
    return xs, ys


def test_in_place_in_a_loop() -> None:
    expected = in_place_in_a_loop(3)
    assert staged(in_place_in_a_loop, rt.constant(3)) == expected


# Order.

def test_keys_that_python_decides_take_any_values() -> None:
    def f(n):
        pairs = [("b", n), ("a", n + 1)]
        return [x for _, x in sorted(pairs)], max(pairs)[1], sorted([n, n + 1], key=lambda x: 0, reverse=True)

    assert staged(f, N) == ([3, 2], 2, [2, 3])


def test_the_same_object_is_equal_to_itself() -> None:
    nan = float("nan")

    def f(n):
        keys = [(nan, 2), (nan, 1), (nan, 0)]
        return sorted(keys) == [(nan, 0), (nan, 1), (nan, 2)], max(keys)[1], (nan, n) in [(nan, 1), (nan, n)]

    assert staged(f, N) == f(2) == (True, 2, True)


def test_equal_keys_keep_their_order() -> None:
    def f(xs):
        pairs = list(enumerate(xs))
        up = [i for i, _ in sorted(pairs, key=lambda p: p[1])]
        return up, [i for i, _ in sorted(pairs, key=lambda p: p[1], reverse=True)]

    assert staged(f, rt.constant([2.0, 1.0, 2.0, 1.0])) == ([1, 3, 0, 2], [0, 2, 1, 3])


def test_keys_of_elements_of_several_shapes() -> None:
    def f(xs, n):
        rows = []
        for i in range(n):
            rows.append(xs[i:])
        rows.sort(key=lambda row: sum(row))
        return rows[0], rows[1], max(rows, key=lambda row: len(row))

    assert staged(f, rt.constant([5, -6, 7]), rt.constant(3)) == ([-6, 7], [5, -6, 7], [5, -6, 7])


def test_nothing_has_no_least() -> None:
    def f(xs):
        return min((x for x in xs if x > 5), key=lambda x: -x)

    for executor in EXECUTORS:
        with pytest.raises(ValueError, match="empty"):
            on(executor, f)(rt.constant([1, 2]))


# Bools.

def of_masks(xs, ns, bit):
    mask = xs > 0
    return mask * xs, ns - mask, mask + 1, mask * 0.5, mask < 1, mask == ns, bit * xs, mask * [1, 2, 3], (mask * 2) + ns


def test_arrays_of_bools_take_the_dtype_that_they_meet() -> None:
    arguments = rt.constant([1.0, -2.0, 3.0]), rt.constant([1, 2, 3]), rt.constant(True)
    eager = of_masks(*arguments)
    traced = rt.function(of_masks)(*arguments)
    assert [x.dtype for x in eager] == [x.dtype for x in traced]
    assert plain(eager) == plain(traced) == (
        [1.0, 0.0, 3.0], [0, 2, 2], [2, 1, 2], [0.5, 0.0, 0.5], [False, True, False], [True, False, False],
        [1.0, -2.0, 3.0], [1, 0, 3], [3, 2, 5])


def test_pythons_bools_and_variables_of_bools_are_numbers_beside_numbers() -> None:
    mask = rt.Variable([True, False, True])

    def f(xs):
        return xs + True, False - xs, xs < True, xs * mask, mask - xs

    xs = rt.constant([1.0, -2.0, 3.0])
    want = [2.0, -1.0, 4.0], [-1.0, 2.0, -3.0], [False, True, False], [1.0, 0.0, 3.0], [0.0, 2.0, -2.0]
    for run in f, *(on(executor, f) for executor in EXECUTORS):
        assert plain(run(xs)) == want


@pytest.mark.parametrize("fn", [lambda m: m + m, lambda m: m * True, lambda m: m < m, lambda m: rt.add(m, 1)])
def test_arrays_of_bools_alone_are_no_numbers(fn: Callable[..., Any]) -> None:
    for run in fn, rt.function(fn):
        with pytest.raises(DTypeError, match="bool"):
            run(rt.constant([True, False]))


def test_counts_are_pythons_ints() -> None:
    xs = rt.constant([1, 5, 7])
    assert type(sum(x > 2 for x in xs)) is int and type(ag.convert(lambda v: sum(v > 2))(xs)) is int
    assert staged(lambda v: sum(x > 2 for x in v) * 0.5 + sum([v[0] > 0, v[1] > 9]), xs) == 2.0


# What is refused.

_NOW = r": <rt\.Tensor 'n' shape=\(\) dtype=int32> has no value while its function is traced"
_PYTHON_INT = ("a tensor cannot be used as a Python int here" + _NOW,
               "Call a function of rt in place of this one, or give it a Python int.")
_GRAPH = " is known only when the graph runs"
_HOLDS = _GRAPH + (
    ", and a list that is made then holds numbers or tensors of one type, text, None, or tuples of these")
_REPEATED = " cannot be repeated here: how often it is repeated" + _HOLDS
_ONE_TYPE = "Give its items one type."


def deleted_of_a_deque(n: Any) -> Any:
    xs = collections.deque([1, 2, 3])
    del xs[n]
    return xs


def test_message_a_deleted_item() -> None:
    with pytest.raises(OpError) as caught:
        rt.function(deleted_of_a_deque)(N)
    first, _, _, last = str(caught.value).split("\n")
    place = f"{__file__}:{deleted_of_a_deque.__code__.co_firstlineno + 2}: "
    assert first.startswith(place) and re.fullmatch(
        "a tensor cannot be the index of what is deleted here" + _NOW, first[len(place):])
    assert last == "Use xs.pop(n) for an item, or keep the rest of a list: xs = xs[:a] + xs[b:]."


@pytest.mark.parametrize(("fn", "what", "remedy"), [
    (lambda n: ["a", 1] * n, r"\[the str 'a', the int 1\]" + _REPEATED, _ONE_TYPE),
    (lambda n: b"-" * n, *_PYTHON_INT),
    (lambda n: [n, rt.constant(1.5)][n], "which item this is, is known only when the graph runs, and no one type fits"
     r" all of them: they are of int32\[\], float32\[\]", "Let them be numbers or tensors of one type, or text."),
    (lambda n: ["a", 2][n:], r"\[the str 'a', the int 2\] cannot be cut here: where it is cut" + _HOLDS, _ONE_TYPE),
])
def test_refusals(fn: Callable[..., Any], what: str, remedy: str) -> None:
    with pytest.raises(OpError) as caught:
        rt.function(fn)(N)
    first, source, caret, last = str(caught.value).split("\n")
    place = f"{__file__}:{fn.__code__.co_firstlineno}: "
    assert first.startswith(place) and re.fullmatch(what, first[len(place):])
    assert "lambda n" in source and caret.strip() == "^" and last == remedy


def test_to_code_is_what_it_was() -> None:
    @rt.function
    def f(xs, n):
        return xs[n] + xs[n:][0]

    assert ag.to_code(f) == "def f(xs, n):\n    return xs[n] + xs[n:][0]\n"


def place_of(xs, x):
    return xs.index(x)


def test_a_callee_that_ran_before_on_plain_values() -> None:
    plainly = ag.convert(lambda xs: [place_of(xs, 3) for _ in range(20)])
    for _ in range(3):
        assert plainly([1, 3])[-1] == 1
        assert staged(lambda n: place_of([1, n, 3], 2), N) == 1


def test_a_character_of_text_at_an_index_of_the_graph() -> None:
    text = "+-+."

    def step(i: Any, x: Any) -> Any:
        return x + 1 if text[i] == "+" else x - 1 if text[i] == "-" else x

    def run(x: Any) -> Any:
        for i in rt.range(len(text)):
            x = step(i, x)
        return x

    assert [staged(step, rt.constant(i), rt.constant(0)) for i in (0, 1, 2, 3, -1, -4)] == [1, -1, 1, 0, 0, 1]
    assert staged(run, rt.constant(10)) == 11
    for executor in EXECUTORS:
        f = on(executor, lambda i: f"<{text[i]}>")
        assert f(rt.constant(1)) == "<->"
        for i in (4, -5):
            with pytest.raises(IndexError, match="string index out of range"):
                f(rt.constant(i))
        with pytest.raises(TypeError):
            on(executor, lambda x: text[x])(rt.constant(1.0))


def reversed_part(x, i, j):
    p = [x, x + 1, x + 2, x + 3]
    p[i:j] = p[i:j][::-1]
    return p


def parts_of_a_list_of_the_graph(x, i, j):
    p = [x + k for k in range(i + 3)]
    p[i:j] = [x, x, x]
    p[:1] = [x * 9]
    p[len(p):] = [x * 7]
    p[-2:-1] = []
    del p[1:i]
    return p


def parts_of_tuples(x, i, j):
    p = [(x, 1.0), (x, 2.0), (x, 3.0)]
    for _ in range(i):
        p[i:] = [(x, 7.0)]
        p[:0] = p[1:2]
    return p


def in_a_loop(x, i, j):
    p = [1, 2, 3, 4, 5]
    for k in range(i):
        p[k:k + 2] = [p[k + 1], p[k]]
        p[1:1] = p
    return p


def deleted(x, i, j):
    p, q = [x, x + 1, x + 2], [x, x + 1, x + 2]
    del p[i:j], q[i]
    return p, q


@pytest.mark.parametrize("fn", [reversed_part, parts_of_a_list_of_the_graph, parts_of_tuples, in_a_loop, deleted])
def test_slices_that_the_graph_knows_are_assigned_and_deleted(fn: Callable[..., Any]) -> None:
    for i, j in ((1, 3), (0, 2), (2, 1), (2, -1)):
        assert staged(fn, rt.constant(1.0), rt.constant(i), rt.constant(j)) == fn(1.0, i, j), (i, j)


def test_a_slice_of_a_list_that_cannot_be_one_of_the_graph() -> None:
    def f(n):
        p = ["a", 2]
        p[n:] = ["c"]
        return p

    with pytest.raises(rt.errors.StagingError, match="a slice of a list is assigned here that only the graph knows"):
        rt.function(f)(rt.constant(1))


# Iterators that Python consumes once, given to lists that grow.

def counts(n):
    return [k for k in range(n)]


def extended(n):
    xs, q, pairs = counts(n), collections.deque(counts(n)), [(0, 0)]
    xs.extend(reversed(xs[:]))
    xs.extend(map(abs, xs[:1]))
    xs += filter(None, xs[:2])
    list.extend(xs, reversed(counts(n)))
    q.extend(map(abs, counts(n)))
    q.extend(filter(None, counts(n)))
    q.extendleft(reversed(counts(n)))
    pairs.extend(zip(counts(n), counts(n)))
    pairs.extend(enumerate(counts(n)))
    pairs.extend(map(lambda k: (k, 1), counts(n)))
    return xs, list(q), pairs


def sliced(n):
    a, b, c, d = counts(n), counts(n), counts(n), [1, 2, 3]
    a[1:] = reversed(a[1:])
    b[1:] = map(abs, b)
    c[1:1] = filter(None, c)
    d[n:] = reversed(d)
    return a, b, c, d


@pytest.mark.parametrize("fn", [extended, sliced])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_all_items_of_an_iterator_come_into_a_list_that_grows(fn: Callable[..., Any], n: int) -> None:
    assert staged(fn, rt.constant(n)) == fn(n)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("xs", [[1, 2], (1, 2), "ab", [rt.constant(1), rt.constant(2)], [[1, 2], [3, 4]]])
def test_an_index_out_of_range_names_the_line(xs: Any, executor: str) -> None:
    def fn(xs, i):
        return xs[i]

    kind = "string" if isinstance(xs, str) else type(xs).__name__
    with pytest.raises(IndexError) as caught:
        on(executor, fn)(xs, rt.constant(2))
    line = fn.__code__.co_firstlineno + 1
    assert str(caught.value).startswith(f"{__file__}:{line}: {kind} index out of range: index 2, length 2\n")
