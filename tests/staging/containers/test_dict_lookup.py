"""Dicts and lists of text of which a value of the graph is the key or index: as in Python, on both executors."""
from __future__ import annotations

import dataclasses
import datetime
import fractions
from collections.abc import Callable
from typing import Any

import pytest
from traced_once import on

import runtime as rt
from runtime.errors import OpError, StagingError, UnimplementedError
from tests.plain_values import executors, outcome, plain

TABLE = {"start": "run", "run": "stop", "stop": "done"}
WEIGHTS = {0: 10, 1: 20, 2: 30}


# Text of a list or tuple.

def text_of_a_tuple(n):
    words = ("ab", "", "é✓", "z")
    print(words[n % 4], words[-1 - n % 4])
    return words[n % 4], words[n % 4] + "!", words[n % 4] == "z", words[n > 2]


def text_of_a_list_in_a_loop(n):
    names, out = ["mon", "tue", "wed"], ""
    for i in range(n):
        out += names[i % 3] + ","
        names[0] = names[1] + "!"
    return out, names


def text_that_is_chosen_among_chosen(n):
    a = "x" if n > 1 else "yy"
    texts = [a, "é", a + "!", f"{n}"]
    return texts[n % 4], texts[-1], texts[n % 2] == a


def text_beyond_the_end(n):
    words = ["a", "b"]
    try:
        return words[n]
    except IndexError:
        return "none"


# Items of dicts.

def items(n):
    d = {3: 1, 1: 20, 2: 5}
    return d[n]


def keys_of_many_kinds(n):
    d = {0: "zero", 1.0: "one", "a": "b", 2**70: "x", None: "c", (1, 2): "d", 7 + 0j: "e", 2.5: "f", Counter: "g"}
    d[True] = "yes"
    return d[n]


def got(n):
    d = {0: 5, 1: 6}
    found = d.get(n)
    return -7 if found is None else found, d.get(n, -1), n in d, n not in d, n in d.keys(), dict.get(d, n, 8)


def by_float(n):
    d = {0.5: 1, True: 2, float("nan"): 3, 1.5: 4, -0.0: 5, 2 + 0j: 9, float("inf"): 8, 3 + 1j: 6}
    x = n / 2
    return d.get(x, -1), x in d, d.get(-x, -2)


def by_bool(n):
    return {True: 1, False: 2}[n > 1], {True: "a", 0: "b"}[n > 1], {0: 1, 1.0: 2}[n == 2], {"a": 1}.get(n > 1, 3)


def by_what_may_be_none(n):
    k, name = None, None
    if n > 1:
        k, name = n, "x"
    if n > 3:
        name = "y"
    return {None: 1, 2: 5}.get(k, -1), {2: 5}.get(k, -1), {None: 1, "x": 5}.get(name, -1), {"y": 1}.get(name, 0)


def by_text(n):
    key = f"k{n}"
    d = {"k0": 1, "k2": 3, "k": 4, "k22": 5, 2: 6, "": 7}
    if key in d:
        return d[key], d.get(f"{n}", 0), d[f"k{2 * (n > 0)}{2 * (n > 0)}" if n > 0 else ""]
    return d.get(key, -1), 0, d.get(key + "2", 9)


def in_comprehensions(n):
    d = {0: 1, 1: 5, 2: 6}
    xs = [n % 3, 0, 2]
    return ([d[x] for x in xs], sum(d[x] for x in xs), sum([d[i % 3] for i in range(n)]), list(map(d.get, xs)),
            sorted(xs, key=lambda x: d[x]))


def of_a_module(n):
    return WEIGHTS[n % 3] + sum(WEIGHTS[i] for i in range(n % 3))


def by_methods(n):
    d = {0: 1}
    return d.setdefault(n * 0, 5), d.__getitem__(n * 0), d.__contains__(n)


def of_tuples(n):
    d = {0: (1, 2), 1: (3, 4)}
    a, b = d[n % 2]
    d[n % 2] = (b, a)
    return a, b, d


def of_rows(n):
    d = {0: [1, 2], 1: [3, 4]}
    d[n % 2][1] += 5
    for i in range(n):
        d[i % 2][0] += i
    return d


def of_an_empty_dict(n):
    d = {}
    return d.get(n), d.get(n, 4), n in d


# Items that are set.

def counts(n):
    d = {0: 0, 1: 0, 2: 0}
    for k in range(n):
        d[k % 3] += 1
    return d


class Counter:
    def __init__(self):
        self.counts = {0: 0, 1: 0, 2: 0}

    def add(self, k, by=1):
        self.counts[k] += by


def counts_of_an_attribute(n):
    counter = Counter()
    for k in range(n):
        counter.counts[k % 3] += 1
        counter.add((k + 1) % 3, by=k)
    return counter.counts[0], counter.counts[n % 3]


@dataclasses.dataclass
class Held:
    d: dict[int, float]


def of_a_dataclass(n):
    held = Held({0: 0.5, 1: 1.5})
    if n > 1:
        held.d[n % 2] = 7.5
    for i in range(n):
        held.d[i % 2] *= 2
    return held.d


def counts_in_a_dict(n):
    d = {"a": {"b": {0: 1, 1: 2}}, "c": 3}
    d["a"]["b"][n % 2] += 5
    for i in range(n):
        d["a"]["b"][i % 2] += 1
    return d


def counts_in_a_list(n):
    ds = [{0: 1, 1: 2}, {0: 3, 1: 4}]
    for i in range(n):
        ds[1][i % 2] += 1
    return ds


def counts_of_text(n):
    found, names = {"even": 0, "odd": 0}, ["even", "odd"]
    for i in range(n):
        found[names[i % 2]] += 1
    return found


def by_another_name(n):
    d = {0: 0, 1: 0}
    e = d
    for k in range(n):
        e[k % 2] += 1
    return d, e is d, d[n % 2]


def set_in_branches(n):
    d = {0: 1, 1: 2.5, 2: 4}
    if n > 1:
        d[n % 2] = 3
    else:
        d[0] = 4
    texts = {False: "x", 1: "y"}
    texts[n % 2 == 1] = f"{n}" if n % 2 == 1 else texts[0]
    return d, texts


def swapped(n):
    d = {"a": 1, "b": 2}
    one, other = ("a", "b") if n > 1 else ("b", "a")
    d[one], d[other] = d[other], d[one] + 10
    return d


def none_before(n):
    d = {0: None, 1: 2}
    d[n % 2] = 5
    return d


# Machines, and errors that are caught.

def machine(n):
    state, k = "start", 0
    while state != "done":
        if n > 1 or state != "run":
            state = TABLE[state]
        k += 1
        if k > 5:
            break
    return state, k


def matched(n):
    following, total, state = {"a": "b", "b": "c", "c": "a"}, 0, "a"
    for _ in range(n):
        match state:
            case "a":
                total += 1
            case "b":
                total += 10
            case _:
                total += 100
        state = following[state]
    return total, state


def followed(n):
    following, k, total = {1: 2, 2: 3, 3: 4, 4: 1, 5: 5}, 1, 0
    while total < n * 3:
        k = following[k]
        total += k
    return k, total


def caught(n):
    d, total = {0: 1, 1: 2, 2: 3}, 0
    for i in range(n):
        try:
            total += d[i]
            d[i] = 0
        except KeyError:
            total += 100
    return total, d


def the_key_of_the_error(n):
    d = {"k1": "found"}
    try:
        return d[f"k{n}"]
    except KeyError as error:
        return error.args[0] + "?"


PROGRAMS: tuple[Callable[..., Any], ...] = (
    text_of_a_tuple, text_of_a_list_in_a_loop, text_that_is_chosen_among_chosen, text_beyond_the_end, items,
    keys_of_many_kinds, got, by_float, by_bool, by_what_may_be_none, by_text, in_comprehensions, of_a_module,
    by_methods, of_tuples, of_rows, of_an_empty_dict, counts, counts_of_an_attribute, of_a_dataclass,
    counts_in_a_dict, counts_in_a_list, counts_of_text, by_another_name, set_in_branches, swapped, none_before,
    machine, matched, followed, caught, the_key_of_the_error,
)


@executors
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program: Callable[..., Any], executor: str, capsys: pytest.CaptureFixture[str]) -> None:
    def given(fn: Callable[..., Any], x: Any) -> Any:
        return outcome(fn, x, capsys, KeyError, lambda error: (KeyError, *map(plain, error.args)))

    staged = on(executor, program)
    for n in (0, 1, 2, 3, 7):
        assert given(staged, rt.constant(n)) == given(program, n)
    assert staged.experimental_get_tracing_count() == 1


@executors
@pytest.mark.parametrize("program", [got, counts, machine, counts_of_text, swapped, caught, items, text_of_a_tuple],
                         ids=lambda program: program.__name__)
def test_verified(program: Callable[..., Any], executor: str) -> None:
    fn = rt.function(program, verify=True, executor=executor)
    for n in (1, 2, 3):
        assert plain(fn(rt.constant(n))) == plain(rt.function(program)(rt.constant(n)))


@executors
def test_an_error_has_the_key_and_the_line(executor: str) -> None:
    with pytest.raises(KeyError) as error:
        on(executor, items)(rt.constant(5))
    assert plain(error.value.args) == (5,)
    assert error.traceback[-1].name == "items" and error.traceback[-1].lineno == items.__code__.co_firstlineno + 1


@executors
def test_out_of_range(executor: str) -> None:
    fn = on(executor, lambda n: ("a", "b")[n])
    assert [fn(rt.constant(n)) for n in (-2, -1, 0, 1)] == ["a", "b", "a", "b"]
    for n in (-3, 2):
        with pytest.raises(IndexError, match="tuple index out of range"):
            fn(rt.constant(n))


@executors
@pytest.mark.parametrize("dtype, key, wanted", [
    (rt.int8, 5, 1), (rt.int8, 127, 2), (rt.uint64, 2**64 - 1, 4), (rt.int64, 2**40, 3), (rt.int64, -2**63, 6),
    (rt.float32, 16777216.0, 0), (rt.float32, 0.1, 7), (rt.float64, 2.0**63, 8), (rt.float16, float("inf"), 0),
    (rt.bool, True, 0), (rt.complex64, 5 + 0j, 1), (rt.complex64, 5 + 1j, 9), (rt.int32, -1, 0)])
def test_dtypes(dtype: Any, key: Any, wanted: int, executor: str) -> None:
    d = {5: 1, 127: 2, 2**40: 3, 2**64 - 1: 4, 2**200: 5, -2**63: 6, 0.1: 7, 2**63: 8, 5 + 1j: 9, 16777217: 10, 1e9: 11}
    assert plain(on(executor, lambda k: d.get(k, 0))(rt.constant(key, dtype))) == wanted


@executors
def test_contiguous_keys_are_found_without_a_search(executor: str) -> None:
    d = dict.fromkeys(range(-2, 126), 0) | {3: 7, 125: 8}
    fn = on(executor, lambda k: (d.get(k, -1), k in d))
    for k in (-128, -3, -2, 3, 125, 126, 127):
        assert plain(fn(rt.constant(k, rt.int8))) == (d.get(k, -1), k in d)
    graph = fn.get_concrete_function(rt.constant(1, rt.int8)).graph
    assert not [node for node in graph.walk() if node.op.name == "argmax"]


@executors
def test_a_new_key_of_another_kind_is_an_error_when_the_graph_runs(executor: str) -> None:
    @rt.function(executor=executor)
    def add(n):
        d = {"a": 1, 0: 1}
        d[n] = 2
        return d[0]

    @rt.function(executor=executor)
    def grow(n):
        names = {"all": 0, 1: 1}
        for k in rt.range(n):
            names[f"k{k}"] = k
        return len(names)

    assert plain(add(rt.constant(0))) == 2
    for fn in (add, grow):
        with pytest.raises(UnimplementedError, match="a key is added to a dict with the keys .*: give the dict all its "
                                                     "keys before, such as dict.fromkeys") as error:
            fn(rt.constant(1))
        assert error.traceback[-1].path.name == "test_dict_lookup.py"


@pytest.mark.parametrize("program", [machine, counts_of_text, text_of_a_tuple], ids=lambda program: program.__name__)
def test_native_code_finds_and_compares_text(program: Callable[..., Any]) -> None:
    pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")
    fn = rt.function(program, executor="native")
    report = fn.explain_native(rt.constant(2))
    assert "text" not in report.replace("render_text", "").replace(program.__name__, "").replace(__file__, ""), report


@executors
def test_items_of_tensors_that_are_items(executor: str) -> None:
    @rt.function(executor=executor)
    def fill(n):
        d, xs = {0: rt.zeros([2]), 1: rt.zeros([2])}, [rt.zeros([2]), rt.zeros([2])]
        d[n % 2][1] = 5.0
        xs[n % 2][1] = 6.0
        for i in range(n):
            d[i % 2][0] += 1.0
        d[n % 2] += 1.0
        return d[0], d[1], xs[0], xs[1]

    assert [x.numpy().tolist() for x in fill(rt.constant(3))] == [[2.0, 0.0], [2.0, 6.0], [0.0, 0.0], [0.0, 6.0]]


def test_lists_that_one_name_gets_and_another_has() -> None:
    def put(n):
        d = {0: [1], 1: [2]}
        first = d[0]
        d[n] = [5]
        first.append(3)
        return d, first

    for n in (0, 1):
        assert plain(rt.function(put)(rt.constant(n))) == plain(put(n))


@executors
def test_a_tensor_that_has_its_value(executor: str) -> None:
    key, gone = rt.constant(2), rt.Variable(3)
    d = {1: 5, 2: 7}

    @rt.function(executor=executor)
    def look_up(n):
        counts = {1: 0, 2: n}
        counts[key] += d[key]
        return d[key], key in d, d.get(gone, 8), gone in d, counts[2]

    assert plain(look_up(rt.constant(1))) == (7, True, 8, False, 8)


def test_other_objects_of_the_backend_are_keys_as_in_python() -> None:
    data = rt.data.Dataset.range(3)
    d = {data: "numbers"}

    @rt.function
    def look_up(n):
        held = {data: n}
        held[data] += 1
        other = rt.data.Dataset.range(2)
        held[other] = n
        return d[data], d.get(data), data in d, held[data], held.get(other), len(held), held.setdefault(other, 5)

    assert plain(look_up(rt.constant(1))) == ("numbers", "numbers", True, 2, 1, 2, 1)


def test_where_functions_run_eagerly() -> None:
    with pytest.raises(TypeError, match="Tensor is unhashable"):
        hash(rt.constant(1))
    rt.config.run_functions_eagerly(True)
    try:
        assert plain(rt.function(got)(rt.constant(1))) == got(1)
        assert plain(rt.function(lambda x: {0.1: 1, 0.5: 2}.get(x))(rt.constant(0.1))) == 1
        with pytest.raises(TypeError, match="Tensor is unhashable"):
            hash(rt.constant([1]))
    finally:
        rt.config.run_functions_eagerly(False)


class Name:
    def __eq__(self, other: object) -> bool:
        return other == "a"

    def __hash__(self) -> int:
        return hash("a")


@pytest.mark.parametrize("fn, message", [
    (lambda n: {1: 2}[rt.stack([n, n])], "a tensor cannot be a key of a dict or an item of a set here"),
    (lambda n: {1: 2, 2: "a"}.pop(n), "a key is taken out of a dict here, and only the graph knows which one"),
    (lambda n: {fractions.Fraction(1): 2}[n], "a key of this dict is a Fraction, and only its class knows what equals"),
    (lambda n: {datetime.date.min: 2}.get(n), "a key of this dict is a date, .* while a tensor is looked up"),
    (lambda n: {Name(): 2}[f"{n}"], "a key of this dict is a Name, .* while text is looked up"),
    (lambda n: {0: 1, 1: "a"}[n], "which item of a dict this is, is known only when the graph runs, and no one type"),
])
def test_refusals(fn: Callable[..., Any], message: str) -> None:
    with pytest.raises((OpError, TypeError), match=message) as error:
        rt.function(fn)(rt.constant(1))
    assert str(error.value).startswith(f"{__file__}:{fn.__code__.co_firstlineno}: ")


def test_items_of_another_type() -> None:
    @rt.function
    def put(n):
        d = {0: "a", 1: 5}
        d[n] = "x"

    with pytest.raises(StagingError) as error:
        put(rt.constant(1))
    first, source, _, remedy = str(error.value).split("\n")
    assert first.partition(": ")[2] == (
        "an item of a dict is set to the str 'x', and only the graph knows which one, but the item 1 is the int 5")
    assert source.endswith('| ' + '        d[n] = "x"') and remedy == "Let all items of the dict be of one type."


def some_keys(n):
    d = {"a": 1}
    if n > 2:
        d["b"] = 2
    key = "a" if n < 2 else "b"
    return key in d, d.get(key, 7), d.get(f"{key}", 7), d.pop(key, 8), d


@executors
def test_keys_that_are_there_on_some_ways_only(executor: str) -> None:
    traced = on(executor, some_keys)
    for n in (1, 2, 3):
        assert plain(traced(rt.constant(n))) == some_keys(n)


@executors
def test_membership_in_a_display(executor: str) -> None:
    def f(x: Any) -> Any:
        return x in {7: 1}, x not in {**{7: 1}, 8: 2}, x in {k: 1 for k in range(8)}, (x, 1) in {(7, 1): 0}, 0 < x in {}

    for x in 7, 9:
        assert [bool(found) for found in on(executor, f)(rt.constant(x))] == [*f(x)]


@pytest.mark.parametrize("fn", [
    lambda x: {(x, [1]): 2}, lambda x: {(x, 1): 2}[x, [1]], lambda x: {1: 2}.get((x, [1])),
    lambda x: (x, [1]) in {1: 2}, lambda x: (x, {}) in {(1, 2)}, lambda x: {(x, 1): 2}.get((x, {1}))])
def test_keys_that_cannot_be_hashed_are_pythons_error(fn: Any) -> None:
    with pytest.raises(TypeError) as expected:
        fn(1)
    with pytest.raises(TypeError, match=str(expected.value)):
        rt.function(fn)(rt.constant(1))


@pytest.mark.parametrize("fn", [
    lambda x: {(x, [1])}, lambda x: {(x, [1]): 2}, lambda x: set().add((x, [1])), lambda x: set([(x, [1])])])
def test_a_key_with_a_list_in_it(fn: Any) -> None:
    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        rt.function(fn)(rt.constant(1))


def test_a_display_with_a_dict_that_the_graph_chooses() -> None:
    def f(x):
        a, b = {1: 2}, {1: 3, 4: 5}
        p, q = {"p": 2}, {"p": 3, "q": x}
        c, d = (a, p) if x > 2 else (b, q)
        return {**c}, c | {9: 9}, {**c, 4: x}, {**a, **c}, dict(c), {**d}, d | {"z": 9}, {**d, "p": x}

    for x in (3, 1):
        assert plain(rt.function(f)(rt.constant(x))) == f(x)
