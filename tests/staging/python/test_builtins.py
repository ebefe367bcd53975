"""Python's builtins on tensors: the same as in Python, eager and staged."""
from __future__ import annotations

import collections
import inspect
import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
import runtime as rt
from runtime.errors import OpError, ShapeError, StagingError
from tests.traced_once import on


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(plain(item) for item in x)
    return x.numpy().tolist() if hasattr(x, "numpy") else x


def outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        return plain(fn(*args))
    except Exception as error:
        return next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")


def numbers(x):
    return int(x), float(x), bool(x), abs(x), round(x), pow(x, 2), divmod(x, 2), x == 0


def numbers_mix_with_tensors(x):
    return int(x) * 0.5 + x, len([x]) + x, float(x) + x


def rounded(x):
    return round(x, 1), round(x), round(-x), round(x + 1)


def extremes(x):
    return min(x, 1.0), max(x, 1.0, 2.5), min([x, 0.5]), max((x, x * 2)), min(3, 4)


def of_vectors(x):
    return (len(x), min(x), max(x), sum(x), sum(x, 10), any(x), all(x), sorted(x), sorted(x, reverse=True),
            list(x), tuple(x), list(reversed(x)))


def numbered_from(x):
    k = int(x)
    pairs = [(k * i, a - b) for i, (a, b) in enumerate(zip([3, 4, 6], [1, 1]), start=k)]
    texts = [(i, word) for i, word in enumerate(["a", "b"], start=k)]
    total = 0
    for i, v in enumerate([5, 7, 9], start=k):
        total += i * v
    return pairs, texts, total, list(enumerate([0.5], k)), sum([1, 2], start=k), dict(enumerate("ab", k))[2]


def ranges(n):
    r = range(n)
    out = [len(r), r[0], r[-1], sum(r), min(r), max(r), 1 if r else 0]
    for i in range(n, 0, -2):
        out.append(i)
    for i in range(1, n, 3):
        out.append(i)
    for i in reversed(range(2, n)):
        out.append(i)
    return out


def empty_ranges(n):
    out = [sum(range(n, 2)), len(range(n, 2)), len(range(0, n, -1))]
    for i in range(n, 2):
        out.append(i)
    return out


def enumerated(xs):
    out = []
    for i, x in enumerate(xs):
        out.append(x * i)
    for i, x in enumerate(xs, 5):
        out.append(x * i)
    for i, (x, y) in enumerate(zip(xs, [10, 20, 30, 40])):
        out.append(x * y + i)
    return out


def zipped(xs, ys):
    total = 0.0
    for x, y in zip(xs, ys):
        total += x * y
    for x, i in zip(xs, range(4, 9)):
        total += x * i
    for x, (a, b) in zip(xs, [(1, 2.5), (3, 4.5), (5, 6.5)]):
        total += x * a + b
    return total


def mapped(n):
    out = []
    for i in map(lambda i: i * i, range(n)):
        out.append(i)
    for i in map(lambda i, j: i - j, range(n), range(1, n)):
        out.append(i)
    for i in filter(lambda i: i % 2 == 0, range(n)):
        out.append(i)
    return out, list(map(lambda i: -i, range(n))), any(map(lambda i: i > 2, range(n))), list(filter(None, range(n)))


def branching_map(xs):
    out = []
    for x in map(lambda x: x if x > 2 else -x, xs):
        out.append(x)
    return out


def lists_of_tensors(x):
    tests = [x > 1, x > -1]
    return any(tests), all(tests), sorted([x, 2.0, 7.0]), any([]), all([]), sum([x, x])


def step_of_zero(n):
    for i in range(0, 5, n - n):
        return i


def minimum_of_nothing(n):
    return min(range(n - n))


def maximum_with_default(n):
    return max(range(n), default=7), min(range(n - n), default=n)


def out_of_range(n):
    return range(n)[n]


def scalar_has_no_len(n):
    return len(n)


def scalar_is_not_iterable(n):
    for i in n:
        print(i)


@pytest.mark.parametrize(("fn", "args"), [
    (numbered_from, (2,)), (numbers, (2.5,)), (numbers, (-3.5,)), (numbers, (0.0,)), (numbers, (7,)),
    (numbers_mix_with_tensors, (2.5,)), (rounded, (2.5,)), (extremes, (0.75,)), (extremes, (5.5,)),
    (of_vectors, ([3, 1, 2],)), (of_vectors, ([0.5, 0.0, -1.5],)), (of_vectors, ([1.5],)),
    (ranges, (5,)), (ranges, (1,)), (empty_ranges, (2,)), (empty_ranges, (4,)),
    (enumerated, ([1, 2, 3],)), (zipped, ([1.5, 2.5, 3.5], [1.0, 2.0])), (mapped, (5,)), (mapped, (1,)),
    (branching_map, ([1, 2, 3, 4],)), (lists_of_tensors, (2.0,)), (lists_of_tensors, (0.5,)),
    (step_of_zero, (2,)), (minimum_of_nothing, (3,)), (maximum_with_default, (3,)), (maximum_with_default, (0,)),
    (out_of_range, (3,)), (scalar_has_no_len, (3,)), (scalar_is_not_iterable, (3,)),
])
def test_as_in_python(fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    expected = outcome(fn, args)
    tensors = tuple(map(rt.constant, args))
    assert outcome(ag.convert(fn), args) == expected
    assert outcome(ag.convert(fn), tensors) == expected
    assert outcome(rt.function(fn), tensors) == expected
    unknown = [rt.TensorSpec([None] * x.ndim, x.dtype) for x in tensors]
    if fn is not of_vectors:  # whose tuple(x) needs a known length
        assert outcome(rt.function(fn, input_signature=unknown), tensors) == expected


def test_unknown_length() -> None:
    @rt.function(input_signature=[rt.TensorSpec([None, 2], rt.float32)])
    def f(x):
        rows = list(x)
        rows.append(x[0] * 10)
        return len(x), sum(x), rows, len(rows)

    length, total, rows, count = f(rt.constant([[1.0, 2.0], [3.0, 4.0]]))
    assert (plain(length), plain(total), plain(rows), plain(count)) == (2, [4, 6], [[1, 2], [3, 4], [10, 20]], 3)


def test_tuple_of_unknown_length() -> None:
    f = rt.function(lambda x: tuple(x), input_signature=[rt.TensorSpec([None], rt.int32)])
    found = f(rt.constant([1, 2]))
    assert type(found) is tuple and plain(found) == (1, 2)


def test_static_lengths_stay_python() -> None:
    def f(x):
        assert type(len(x)) is int
        return [i for i in range(len(x))]

    assert rt.function(f)(rt.constant([5, 6])) == [0, 1]


def test_dtypes() -> None:
    @rt.function
    def f(x, y):
        return int(x), float(x), int(y), float(y), round(x), round(y)

    found = [x.dtype.name for x in f(rt.constant(1.5), rt.constant(1.5, rt.float64))]
    assert found == ["int32", "float32", "int64", "float64", "int32", "int64"]


def test_never_materialised() -> None:
    @rt.function
    def f(n):
        for i in range(n):
            if i > 3:
                break
        return i

    assert f(rt.constant(2_000_000_000)).numpy() == 4
    text = str(f.get_concrete_function(rt.TensorSpec((), rt.int32)).graph)
    assert "reduce(" in text


@ag.do_not_convert
def has_two(numbers: Any) -> bool:
    return 2 in numbers


@pytest.mark.parametrize(("fn", "error", "message"), [
    (lambda x: min(x, key=lambda v: x), ShapeError, r"min\(\) compares its arguments, and the truth of the comparison"),
    (lambda x: sorted(x, key=lambda v: x), ShapeError, r"sorted\(\) compares items, and the truth of their comparison"),
    (lambda x: sorted([x[0], 1], key=lambda v: (v, [None])), StagingError,
     r"sorted\(\) compares here what cannot be one tensor: strings and None do not stack"),
    (lambda x: sorted([(1, x[0]), 2]), TypeError, "'<' not supported between instances of 'int' and 'tuple'"),
    (lambda x: min(x, x), ShapeError, r"min\(\) compares its arguments, and the truth of the comparison"),
    (lambda x: int(x), TypeError, "only a tensor with one element converts to int; this one is int32"),
    (lambda x: range(x), TypeError, "range takes integer scalars, not int32"),
    (lambda x: [y for y in zip(x[x > 0], [has_two, max])], StagingError,
     r"zip runs over a tensor together with \[<function has_two.*, whose items cannot be one tensor"),
    (lambda x: any([x, x]), (ShapeError, TypeError), "one element"),
    (lambda x: has_two(range(x[0])), TypeError, "`in` a range of tensors has no Python value"),
])
def test_refusals(fn: Callable[..., Any], error: Any, message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        rt.function(fn)(rt.constant([1, 2]))
    assert __file__ in str(caught.value) or error is TypeError


def test_range_of_what_is_no_integer() -> None:
    @rt.function
    def f(x: Any) -> Any:
        return [i for i in range(x)]

    with pytest.raises(TypeError) as caught:
        f(rt.constant(2.5))
    line = inspect.getsourcelines(f.python_function)[1] + 2
    first, *_, remedy = str(caught.value).split("\n")
    assert first == f"{__file__}:{line}: range takes integer scalars, not float32[]"
    assert remedy == "Give it one integer, for example rt.cast(n, rt.int32)."


@pytest.mark.parametrize(("x", "expected"), [(2.5, 2), (-3.5, -4), (7, 7)])
def test_round_of_an_eager_tensor_is_what_it_is_in_converted_code(x: float, expected: int) -> None:
    for fn in (lambda x: round(x)), ag.convert(lambda x: round(x)), rt.function(lambda x: round(x)):
        assert rt.convert_to_tensor(fn(rt.constant(x))).dtype is rt.int32
        assert fn(rt.constant(x)) == expected
    assert round(rt.constant(2.55), 1).dtype is rt.float32


def _printed(x: Any) -> Any:
    print(x)
    return x


_NATIVE = ("a function that is not converted asks here whether a tensor is true",
           "Write what it does as a loop, or with functions of rt. sorted(), min(), max(), any(), all(), filter(), "
           "`x in xs`, methods of lists, heapq and bisect are staged; what other modules do is not.")
_PERCENT = ("a tensor cannot be a number of a text with % here",
            "Write an f-string, such as f'{x:.2f}', or use str.format: the graph fills it in when it runs.")


@pytest.mark.parametrize(("fn", "texts"), [
    (lambda x: [y for y in itertools.takewhile(lambda v: v < x[0], [1, 2])], _NATIVE),
    (lambda x: next(itertools.dropwhile(lambda v: v < x[0], [1, 2])), _NATIVE),
    (lambda x: print("%.3d of %s" % (x[0], 3)), _PERCENT),  # noqa: UP031
    (lambda x: [a for a, _ in zip((_printed(v) for v in x if v > 1), x)], (
        "Python takes the items of this generator one at a time here, and what it prints, raises or assigns would come"
        " for all of them at once", "Write it as a loop.")),
])
def test_full_messages(fn: Callable[..., Any], texts: tuple[str, str]) -> None:
    with pytest.raises(OpError) as caught:
        rt.function(fn)(rt.constant([1, 2]))
    first, _, _, remedy = str(caught.value).split("\n")
    what = f"{__file__}:{fn.__code__.co_firstlineno}: {texts[0]}"
    why = r": <rt\.Tensor '\w+' shape=\(\) dtype=\w+> has no value while its function is traced"
    assert first == what or re.fullmatch(re.escape(what) + why, first)
    assert remedy == texts[1]


def test_datasets() -> None:
    def f():
        total = 0
        for i, (x, y) in enumerate(zip(rt.data.Dataset.range(5), [10, 20, 30])):
            total += i * rt.cast(x, rt.int32) + y
        for x, y in zip(rt.data.Dataset.range(3), rt.data.Dataset.range(5)):
            total += rt.cast(x * y, rt.int32)
        return total

    assert plain(rt.function(f)()) == 60 + 0 + 1 + 4 + 0 + 1 + 4
    assert plain(ag.convert(f)()) == 60 + 10


def test_next() -> None:
    def f(ds):
        it = iter(ds)
        return next(it) + next(it) * 10

    ds = rt.data.Dataset.range(3)
    assert plain(rt.function(f)(ds)) == plain(ag.convert(f)(ds)) == 10


class Scale:
    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def times(self, x: Any) -> Any:
        return self.factor * x


def with_methods(x: Any) -> Any:
    total = 0.0
    for scale, item in zip([Scale(2.0), Scale(0.5)], x):
        total += scale.times(item)
    return total


def with_changes(x: Any) -> Any:
    scales = [Scale(2.0), Scale(0.5)]
    for scale, item in zip(scales, x):
        if item > 3.5:
            scale.factor += item
    return [scale.factor for scale in scales]


def with_names(x: Any) -> Any:
    return dict(zip(["a", "b"], x)), [item for name, item in zip(("a", "b"), x) if name == "b"]


def with_functions(x: Any) -> Any:
    total = 0.0
    for function, item, weight in zip([np.sin, np.cos], x, [1.0, 2.0], strict=True):
        total += function(item) * weight
    return total


@pytest.mark.parametrize("f", [with_methods, with_changes, with_names, with_functions])
def test_zip_of_objects_and_an_array(f: Callable[[Any], Any]) -> None:
    x = np.array([3.0, 4.0])
    want, got = rt.nest.flatten(f(x)), rt.nest.flatten(rt.function(f)(x))
    np.testing.assert_allclose([float(y) for y in got], [float(y) for y in want])


# pow() with three arguments

MODULAR = [(2, 100, 7), (7, 2147483646, 2147483647), (-5, 33, -8), (5, 0, 1), (3, 1000003, 3037000500), (0, 0, 3)]


@pytest.mark.parametrize("numbers", MODULAR, ids=str)
@pytest.mark.parametrize("staged", [(0, 1, 2), (0,), (1,), (2,)], ids=str)
def test_a_power_is_taken_modulo_the_third_argument(numbers: tuple[int, ...], staged: tuple[int, ...]) -> None:
    given = [rt.constant(x, rt.int64) if i in staged else x for i, x in enumerate(numbers)]
    for executor in ("numpy", None):
        assert int(on(executor, lambda b, e, m: pow(b, e, m))(*given)) == pow(*numbers)


@pytest.mark.parametrize(("numbers", "error", "what"), [
    ((2, 3, 0), ValueError, "pow() 3rd argument cannot be 0"),
    ((2, -1, 7), ValueError, "pow() of a tensor has no negative exponent with a 3rd argument"),
    ((2, 1, 2**40), OverflowError, "in 64 bits: it can be 3037000500 at most"),
    ((2.0, 1, 7), TypeError, "pow() 3rd argument not allowed unless all arguments are integers"),
])
def test_a_power_that_has_no_remainder_is_an_error(numbers: tuple[Any, ...], error: type, what: str) -> None:
    given = [rt.constant(x, rt.int64 if isinstance(x, int) else rt.float32) for x in numbers]
    with pytest.raises(error, match=re.escape(what)):
        rt.function(lambda b, e, m: pow(b, e, m))(*given)


# Unpacking, and zip() of iterators

def parts(n):
    xs = [k for k in range(n)]
    a, *m, z = xs
    *h, y = [(k, k) for k in xs]
    b, *s = collections.deque(xs)
    c, *t = range(n)
    e, *v = (k * k for k in range(n))
    return a, m, z, h, y, b, s, c, t, e, v


def pair(n):
    a, b = [k for k in range(n)]
    return a, b


def quicksort(n):
    def in_order(xs):
        if len(xs) < 2:
            return xs
        pivot, *rest = xs
        return [k for k in rest if k < pivot] + [pivot] + [k for k in rest if k >= pivot]

    return in_order([k * 7 % 5 for k in range(n)])


def pairs_in_loops(n):
    total = 0
    for a, b in [[k, k + 1] for k in range(n)]:
        total += a * b
    return total, [a + b for a, b in [[k, k + 1] for k in range(n)]]


@pytest.mark.parametrize("fn", [parts, pair, quicksort, pairs_in_loops])
def test_lists_of_the_graph_are_unpacked(fn: Callable[..., Any]) -> None:
    for executor in ("numpy", None):
        staged = on(executor, fn)
        for n in range(5):
            try:
                expected = fn(n)
            except ValueError as error:
                with pytest.raises(ValueError, match=re.escape(str(error).removesuffix(", got 3)").removesuffix(")"))):
                    staged(rt.constant(n))
            else:
                assert plain(staged(rt.constant(n))) == expected


def with_iterators(n):
    xs = [k for k in range(n)]
    return (list(zip(xs, itertools.count())), list(zip(itertools.count(5, 2), xs)), list(zip(itertools.count(n), xs)),
            [a * b for a, b in zip(xs, itertools.repeat(3))], list(zip(xs, itertools.repeat(7, 2))),
            [a for a, letter in zip(xs, "abcd") if letter == "b"],
            sum(a * b for a, b in zip((x for x in xs), itertools.count(1))))


def test_lists_of_the_graph_are_zipped_with_iterators_and_text() -> None:
    for n in (0, 4):
        assert plain(rt.function(with_iterators)(rt.constant(n))) == with_iterators(n)


def test_an_iterator_that_was_zipped_has_no_known_position() -> None:
    def f(n):
        count = itertools.count()
        return list(zip([k for k in range(n)], count)), next(count)

    with pytest.raises(StagingError, match="where this count is, is known only when the graph runs"):
        rt.function(f)(rt.constant(3))
    with pytest.raises(ValueError, match="arguments have different lengths"):
        rt.function(lambda n: list(zip(range(n), itertools.count(), strict=True)))(rt.constant(3))
