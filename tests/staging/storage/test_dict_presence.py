"""Dicts to which staged code adds a key on some ways only: right, or an error that names the line."""
from __future__ import annotations

import collections
import copy
import itertools
import json
import operator
from collections.abc import Callable
from typing import Any

import pytest
from plain_values import plain
from traced_once import on

import runtime as rt
from runtime.errors import StagingError


def is_in(x):
    d = {"a": x}
    if x > 0:
        d["b"] = x * 2
    return ("b" in d, "a" in d, "c" in d, "b" not in d)


def guarded(x):
    d = {"a": x}
    if x > 0:
        d["b"] = x * 2
    s = d["b"] if "b" in d else x
    if "b" not in d:
        d["b"] = x - 1
    if "b" in d and d["b"] > 3:
        s += 1
    return s, d["b"]


def in_a_loop(x):
    d, s = {}, x
    for _ in rt.range(rt.cast(x, rt.int32)):
        if "n" not in d:
            d["n"] = x
        else:
            d["n"] += 1
        s += d["n"]
    return s, "n" in d


def key_of_a_variable(x):
    d, k = {}, "b"
    if x > 0:
        d["b"] = x
    return k in d, k in d.keys(), (k + "c") in d


def of_an_attribute(x):
    o = Object()
    o.d = {"a": x}
    alias = o.d
    if x > 0:
        o.d["b"] = x
    return "b" in o.d, "b" in alias, "b" in dict(alias)


def set_on_all_ways(x):
    d = {"a": x}
    if x > 0:
        d["b"] = x
    else:
        d["b"] = -x
    return len(d), sum(d.values()), [k for k in d] == ["a", "b"]


def set_before(x):
    d = {"a": x, "b": 0.0}
    if x > 0:
        d["b"] = x
    return len(d), sum(d.values()), sorted(d) == ["a", "b"]


def value_that_may_be_none(x):
    d = {"a": x, "b": None}
    if x > 0:
        d["b"] = x
    return len(d), "b" in d, d["b"] is None


def got(x):
    d = {"a": x}
    if x > 0:
        d["b"] = x * 2
    found = d.get("b")
    return d.get("b", 7.0), d.get("a", 7.0), d.get("c", 7.0), -1.0 if found is None else found


def taken(x):
    d = {"a": x}
    if x > 0:
        d["b"] = x * 2
    return d.pop("b", 7.0), len(d), "b" in d


def set_unless_there(x):
    d = {"a": x}
    if x > 0:
        d["b"] = x * 2
    return d.setdefault("b", 7.0), d["b"], len(d), d.setdefault("a", 7.0)


def tallied(x):
    d, s = {}, 0.0
    for _ in rt.range(rt.cast(x, rt.int32)):
        d["n"] = d.get("n", 0.0) + x
        s += d.get("n") * d.get("m", 0.5)
    return s, d.get("n", -1.0)


def copied(x):
    d = {"a": x}
    if x > 0:
        d["b"] = x * 2
    copies = (d.copy(), copy.copy(d), copy.deepcopy(d), dict(d), dict(d, c=1.0), {**d}, d | {}, {} | d)
    return tuple(c.get("b", 7.0) for c in copies)


def put_into_another(x):
    d = {"a": x}
    if x > 0:
        d["b"] = x * 2
    e, g = {"b": 5.0}, {}
    e.update(d)
    g.update(d, c=1.0)
    d.update(c=x)
    return (e["b"], "b" in g, g["c"], {"b": 5.0, **d}["b"], {**d, "b": 5.0}["b"], ({"b": 8.0} | d)["b"],
            (d | {"b": 9.0})["b"], d["c"])


def certain_again(x):
    d = {"a": x}
    if x > 0:
        d["b"] = x * 2
    d |= {"b": 1.0}
    return len(d), sum(d.values()), list(d) == ["a", "b"], d == {"a": d["a"], "b": 1.0}, dict.fromkeys(d, 1.0)["b"]


def equal_or_not_for_sure(x):
    d = {"a": x}
    if x > 0:
        d["b"] = x * 2
    e = d
    return d == e, d == {}, d != {}, d == {"a": 1.0, "c": 1.0}, d == 1, [d] == [e], d in [{}, d], {} == d


def of_the_same_class(x):
    d = {"a": x}
    if x > 0:
        d["b"] = x * 2
    return type(d) is dict, isinstance(d, dict), type(d)(c=1.0)["c"], callable(d), d is None


def without(x):
    d = {"a": x}
    if x > 0:
        d["b"] = x * 2
    if "b" in d:
        del d["b"]  # noqa: RUF051
    del d["a"]
    return "a" in d, "b" in d


def counted(x):
    d = collections.Counter()
    if x > 0:
        d["b"] += x
    for _ in rt.range(rt.cast(x, rt.int32)):
        d["n"] += 1.0
    return d["b"], d["n"], "n" in d, d.get("b", 7.0)


def with_a_factory(x):
    d = collections.defaultdict(float)
    if x > 0:
        d["b"] += x
    before = "b" in d
    return before, d.get("b", 7.0), d["b"], "b" in d, d["c"]


def attributes(x):
    o = Object()
    if x > 0:
        o.d = x * 2
    name = "d"
    found = getattr(o, "d", None)
    return (getattr(o, "d", 7.0), getattr(o, name, 8.0), hasattr(o, "d"), hasattr(o, name), getattr(o, "e", 9.0),
            -1.0 if found is None else found)


def attributes_in_slots(x):
    o = Slots()
    if x > 0:
        o.d = x * 2
    s = 0.0
    for _ in rt.range(2):
        s += getattr(o, "d", 1.0)
        o.d = s
    return s, o.d


def attribute_deleted(x):
    o = Object()
    o.d = x
    if x > 0:
        o.e = x
    if hasattr(o, "e"):
        del o.e
    del o.d
    return hasattr(o, "e"), hasattr(o, "d")


class Object:
    d: Any


class Slots:
    __slots__ = ("d",)


def lengths(x):
    d, e = {"a": x}, {"a": x, "b": x}
    if x > 0:
        d["b"] = x
        del e["b"]
    n = 0
    if x > 1:
        n = len(d)
    return (n, len(d), len(d.copy()), len(dict(d)), len({**d}), len(d | {"c": 1.0}), len([d][0]), len(e))


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [
    is_in, guarded, lengths, in_a_loop, key_of_a_variable, of_an_attribute, set_on_all_ways, set_before,
    value_that_may_be_none,
    got, taken, set_unless_there, tallied, copied, put_into_another, certain_again, equal_or_not_for_sure,
    of_the_same_class, without, counted, with_a_factory, attributes, attributes_in_slots,
    attribute_deleted])
def test_right(fn: Any, executor: str) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite")
    f = on(executor, fn)
    for value in (-1.0, 0.0, 2.0, 3.0):
        x = rt.constant(value)
        assert list(map(float, f(x))) == list(map(float, fn(x))), value


USES: dict[str, Callable[[dict[Any, Any]], Any]] = {
    "list": list, "tuple": tuple, "sorted": sorted, "max": max, "bool": bool, "iter": iter,
    "enumerate": lambda d: list(enumerate(d)), "sum": lambda d: sum(d.values()), "any": any,
    "map": lambda d: map(len, d), "zip": lambda d: list(zip(d, d)), "reversed": lambda d: list(reversed(d)),
    "keys": lambda d: len(d.keys()),
    "values": lambda d: list(d.values()), "items": lambda d: len(d.items()),
    "keywords": lambda d: (lambda **keywords: len(keywords))(**d), "list of": lambda d: [k for k in d],
    "dict of": lambda d: {k: 1.0 for k in d}, "set of": lambda d: {k for k in d}, "any of": lambda d: sum(1 for k in d),
    "truth": lambda d: 1.0 if d else 2.0, "not": lambda d: not d, "and": lambda d: d and 1.0, "or": lambda d: d or 1.0,
    "in items": lambda d: ("b", 1.0) in d.items(),
    "popitem": lambda d: d.popitem(),
    "set": set, "frozenset": frozenset, "star": lambda d: f"{[*d]}", "star in a set": lambda d: len({*d}),
    "star in a call": lambda d: (lambda *args: len(args))(*d), "equal": lambda d: d == {"a": d["a"]},
    "not equal": lambda d: d != {"a": 1.0, "b": 2.0}, "equal to it": lambda d: {"a": d["a"]} == d,
    "items of lists": lambda d: [d] == [{"a": d["a"]}], "in a list of dicts": lambda d: d in [{"a": d["a"]}],
    "counted": lambda d: [{"a": d["a"]}].count(d), "keys and": lambda d: d.keys() & {"a"},
    "keys equal": lambda d: d.keys() == {"a"}, "keys below": lambda d: d.keys() <= {"a"},
    "disjoint": lambda d: {"b"}.isdisjoint(d), "text": lambda d: f"{d}", "str": str, "repr": repr, "print": print,
    "join": "".join, "extend": lambda d: [].extend(d), "unpacked": lambda d: len((lambda a: a)(*d)),
    "from keys": dict.fromkeys, "dunder": lambda d: d.__len__(), "views": lambda d: {*d.items()},
    "any in a list": lambda d: any([d]), "format": lambda d: "{b}".format(**d),
    "chain": lambda d: len(list(itertools.chain(d))), "test of items": lambda d: [0 for _ in [1] if d],
    "merged twice": lambda d: d.update(d.copy()),
    "ordered": lambda d: len(collections.OrderedDict(d)), "default": lambda d: len(collections.defaultdict(float, d)),
}


@pytest.mark.parametrize("merge", [operator.ior, operator.or_])
def test_functions_of_the_operators(merge: Any) -> None:
    def f(x):
        d = {"b": x}
        if x > 0:
            d["c"] = x
        return merge({"a": 1.0}, d)

    found = [rt.function(f)(rt.constant(x)) for x in (1.0, -1.0)]
    assert [{key: float(value) for key, value in d.items()} for d in found] == [f(1.0), f(-1.0)]


@pytest.mark.parametrize("use", USES)
def test_what_depends_on_the_keys(use: str) -> None:
    fn = USES[use]

    def f(x):
        d = {"a": x}
        if x[0] > 0:
            d["b"] = x  # a tensor with axes, so that the dict does not become a table
        return fn(d)

    with pytest.raises(StagingError) as info:
        rt.function(f, executor="numpy")(rt.constant([1.0]))
    first, *_, last = str(info.value).split("\n")
    assert first == (
        f"{__file__}:{fn.__code__.co_firstlineno if hasattr(fn, '__code__') else f.__code__.co_firstlineno + 4}:"
        " whether there is d['b'] is known only when the graph runs, as it is set on some ways through a staged"
        " statement only, and Python asks here for the keys of that dict")
    assert last == (
        "Give d['b'] a value on all ways, or before, such as 0 or None; `in` and d['b'] itself may be used.")


OF_TABLES = (
    "list", "sorted", "max", "bool", "enumerate", "sum", "any", "zip", "reversed", "keys", "values", "items", "list of",
    "any of", "truth", "not", "in items", "popitem", "star", "keys and", "keys equal", "keys below", "test of items")


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("use", OF_TABLES)
def test_the_keys_of_a_dict_of_numbers(use: str, executor: str) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite")

    def f(x):
        d = {"a": x}
        if x > 0:
            d["b"] = x
        return USES[use](d)

    staged = on(executor, f)
    for x in (1.0, -1.0):
        assert plain(staged(rt.constant(x))) == plain(f(x))


def by_method(n):
    c = collections.Counter()
    for word in ("a", "b"):
        c[word] += n
    if n > 1:
        c["z"] += 5
    return c.most_common(1), c.total(), [*c.items()], len(c), c["a"], c.get("z", 7), "z" in c, c


def in_a_staged_loop(n):
    d, lengths = {}, []
    for i in range(n):
        d["k"] = i
        lengths.append(len(d.items()))
    return len(d), list(d.items()), lengths, d


def grouped(n):
    d = collections.defaultdict(list)
    for i in range(n):
        d["k"].append(i)
    return sorted(d.items()), d


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [by_method, in_a_staged_loop, grouped])
def test_programs_that_ask_for_the_keys(fn: Any, executor: str) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite")
    staged = on(executor, fn)
    for n in (0, 1, 3):
        found, wanted = staged(rt.constant(n)), fn(n)
        assert plain(found) == plain(wanted) and type(found[-1]) is type(wanted[-1])


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("words", [["z"], ["z", "z"], ["z", "y"]])
def test_words_at_indices_of_the_graph(words: list[str], executor: str) -> None:
    """Of one word it is known which one is counted, but not whether one is."""
    if executor == "native":
        pytest.importorskip("llvmlite")

    def counted(words, indices):
        c, first, places = collections.Counter(), {}, {}
        for i in indices:
            c[words[i]] += 1
            first.setdefault(words[i], i)
            places.setdefault(words[i], []).append(i)
        return (c.most_common(), c.total(), [f"{k}={v}" for k, v in first.items()], len(first), list(places.values()),
                sorted(c.items(), key=lambda item: (-item[1], item[0])), [k for k in places])

    staged = on(executor, counted)
    for indices in ([0], [len(words) - 1, 0, 0]):
        assert plain(staged(words, rt.constant(indices))) == plain(counted(words, indices))


def loop(x):
    d, s = {"a": x}, x
    if x[0] > 0:
        d["b"] = x
    for k in d:
        s += len(k)
    return s


def loop_over_items(x):
    d, s = {"a": x}, x
    for _ in rt.range(rt.cast(x[0], rt.int32)):
        d["b"] = x
    for _, value in d.items():
        s += value
    return s


def while_there_are_any(x):
    d, s = {}, x
    if x[0] > 0:
        d["b"] = x
    while d:
        s += d.popitem()[1]
    return s


@pytest.mark.parametrize(("fn", "offset"), [
    (loop, 4), (loop_over_items, 4), (while_there_are_any, 4)])
def test_statements(fn: Any, offset: int) -> None:
    with pytest.raises(StagingError) as info:
        rt.function(fn, executor="numpy")(rt.constant([1.0]))
    assert str(info.value).startswith(
        f"{__file__}:{fn.__code__.co_firstlineno + offset}: whether there is d['b'] is known only when the graph runs,")


def test_an_item_that_is_not_there() -> None:
    def f(x):
        d = {}
        if x > 0:
            d["b"] = x
        return d["b"]

    g = rt.function(f)
    assert float(g(rt.constant(2.0))) == 2
    with pytest.raises(KeyError) as info:
        g(rt.constant(-2.0))
    assert str(info.value).split("\n")[0] == f"{__file__}:{f.__code__.co_firstlineno + 4}: 'd' has no key 'b'"


def test_an_item_that_is_taken_and_not_there() -> None:
    def f(x):
        d = {"a": x}
        if x > 0:
            d["b"] = x
        return d.pop("b"), len(d)

    g = rt.function(f)
    value, length = g(rt.constant(2.0))
    assert float(value) == 2 and length == 1
    with pytest.raises(KeyError) as info:
        g(rt.constant(-2.0))
    assert str(info.value).split("\n")[0] == f"{__file__}:{f.__code__.co_firstlineno + 4}: 'd' has no key 'b'"


def matched(d):
    match d:
        case {"b": _}:
            return 1.0
    return 2.0


def rest(d):
    match d:
        case {"a": _, **others}:
            return len(others)


def unpacked(d):
    (key,) = d
    return key


def yielded(d):
    def keys():
        yield from d

    return len(list(keys()))


def spliced(d):
    keys = [0]
    keys[:] = d
    return len(keys)


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [matched, rest])
def test_patterns(fn: Any, executor: str) -> None:
    def f(x):
        d = {"a": x}
        if x > 0:
            d["b"] = x
        return fn(d)

    for x in 1.0, -1.0:
        assert float(on(executor, f)(rt.constant(x))) == f(x)


@pytest.mark.parametrize(("fn", "offset"), [(unpacked, 1), (yielded, 2), (spliced, 2)])
def test_statements_of_python_alone(fn: Any, offset: int) -> None:
    def f(x):
        d = {"a": x}
        if x[0] > 0:
            d["b"] = x
        return fn(d)

    with pytest.raises(StagingError) as info:
        rt.function(f, executor="numpy")(rt.constant([1.0]))
    assert str(info.value).startswith(
        f"{__file__}:{fn.__code__.co_firstlineno + offset}: whether there is d['b'] is known only when the graph runs,")


def test_code_that_is_left_alone() -> None:
    def f(x):
        d = {"a": 1}
        if x > 0:
            d["b"] = 2
        return json.dumps(d)

    with pytest.raises(StagingError, match=r"whether there is d\['b'\] is known only when the graph runs"):
        rt.function(f)(rt.constant(1.0))


def test_a_dict_is_of_its_own_class_again() -> None:
    """Also if the trace fails; and what was made of it."""
    made: list[Any] = []

    def f(x, kept, fails):
        if x > 0:
            kept["b"] = x
        made.append(kept.copy())
        made.append(collections.OrderedDict())
        if x > 0:
            made[-1]["b"] = x
        if fails:
            raise LookupError
        return x

    with pytest.raises(LookupError):
        rt.function(f, executor="numpy")(rt.constant(1.0), {"a": 1.0}, True)
    rt.function(f, executor="numpy")(rt.constant(1.0), {"a": 1.0}, False)
    assert {type(each) for each in made} == {dict, collections.OrderedDict}
    assert [len(each) for each in made] == [2, 1, 2, 1] and sorted(made[0]) == ["a", "b"]


@pytest.mark.parametrize("delete", [lambda o: delattr(o, "d"), lambda o: o.forget()])
def test_an_attribute_that_is_deleted_and_not_there(delete: Any) -> None:
    class Forgetful:
        def forget(self):
            del self.d

    def f(x):
        o = Forgetful()
        if x > 0:
            o.d = x
        delete(o)
        return hasattr(o, "d")

    g = rt.function(f)
    assert not g(rt.constant(2.0))
    with pytest.raises(AttributeError, match="'(o|self)' has no attribute 'd'"):
        g(rt.constant(-2.0))


@pytest.mark.parametrize("fn", [vars, dir])
def test_which_attributes_there_are(fn: Any) -> None:
    def f(x):
        o = Object()
        if x > 0:
            o.d = x
        return len(fn(o))

    with pytest.raises(StagingError) as info:
        rt.function(f, executor="numpy")(rt.constant(1.0))
    first, *_, last = str(info.value).split("\n")
    assert first == (
        f"{__file__}:{f.__code__.co_firstlineno + 4}: whether there is o.d is known only when the graph runs, as it is"
        " set on some ways through a staged statement only, and Python asks here for the attributes of that object")
    assert last == (
        "Give o.d a value on all ways, or before, such as 0 or None; `hasattr`, `getattr` and o.d itself may be used.")


def test_an_item_that_is_deleted_and_not_there() -> None:
    def f(x):
        d = {"a": x}
        if x > 0:
            d["b"] = x
        del d["b"]
        return len(d)

    g = rt.function(f)
    assert int(g(rt.constant(2.0))) == 1
    with pytest.raises(KeyError) as info:
        g(rt.constant(-2.0))
    assert str(info.value).split("\n")[0] == f"{__file__}:{f.__code__.co_firstlineno + 4}: 'd' has no key 'b'"


def test_an_attribute_that_is_not_there() -> None:
    def f(x):
        o = Object()
        if x > 0:
            o.d = x
        return o.d + 1

    g = rt.function(f)
    assert float(g(rt.constant(2.0))) == 3
    with pytest.raises(AttributeError) as info:
        g(rt.constant(-2.0))
    assert str(info.value).split("\n")[0] == f"{__file__}:{f.__code__.co_firstlineno + 4}: 'o' has no attribute 'd'"


def test_keys_with_dots_and_brackets() -> None:
    """A copy of what is not there, under another key that ends alike, is a read of it."""
    def f(x):
        d, e = {}, {}
        if x > 0:
            d["a.b"] = d["[x]"] = x
        if x < 1:
            e["c.b"] = d["a.b"]
        return "c.b" in e, d["[x]"]

    g = rt.function(f, executor="numpy")
    assert [float(part) for part in g(rt.constant(0.5))] == [1.0, 0.5]
    with pytest.raises(KeyError) as info:
        g(rt.constant(-1.0))
    assert str(info.value).split("\n")[0] == f"{__file__}:{f.__code__.co_firstlineno + 5}: 'd' has no key 'a.b'"


class Plain(dict):
    """A dict of the user's, with the operators of dict."""

    def first(self):
        return self["a"]


class Holder:
    pass


def test_subclass_of_dict() -> None:
    def known(x):
        d = Plain(b=1)
        if x > 0:
            d["a"] = x
        if "a" in d:
            return d.first() + d.get("c", 2)
        return d.get("a", 7)

    def sized(x):
        d = Plain()
        if x > 0:
            d["a"] = x
        return len(list(d))

    for x in (3, 0):
        assert int(rt.function(known)(rt.constant(x))) == known(x)
    with pytest.raises(rt.errors.StagingError, match=r"whether there is d\['a'\] is known only when the graph runs"):
        rt.function(sized)(rt.constant(1))


def test_attributes_taken_before() -> None:
    def known(x):
        o = Holder()
        held = o.__dict__
        if x > 0:
            o.y = x
        if "y" in held:
            return held["y"] + 1
        return held.get("y", 5)

    def sized(x):
        o = Holder()
        held = o.__dict__
        if x > 0:
            o.y = x
        return len(list(held))

    for x in (3, 0):
        assert int(rt.function(known)(rt.constant(x))) == known(x)
    with pytest.raises(rt.errors.StagingError, match=r"whether there is o\.y is known only when the graph runs"):
        rt.function(sized)(rt.constant(1))


def popped(x):
    d = {"k": x, "m": x}
    if x > 0:
        d.pop("k")
    return d


def another(x):
    d = {"k": x, "m": x}
    if x > 0:
        d = {"j": x, "k": x * 2}
    return d, "m" in d, d.get("j", 0.5)


def updated(x):
    d = collections.defaultdict(list, k=[x])
    if x > 0:
        d.update(z=[x, x])
        d["k"].append(x)
    return d, [d]


def emptied(x):
    d = {"b": x}
    if x > 0:
        d.setdefault("a", x)
    else:
        d.clear()
    return d


def in_a_loop(x):
    d = {"n": x}
    for i in rt.range(3.0):
        if x > i:
            d = {**d, "last": x * i}
    return d


def attributes(x):
    o = Holder()
    o.y = x
    if x > 0:
        o.z = x
    return o, {"o": {"d": popped(x)}}


def of_a_call(x):
    d = rt.function(popped)(x)
    return "k" in d, d.get("k", 7.0), d


def shown(value: Any) -> Any:
    if isinstance(value, tuple):
        return [*map(shown, value)]
    return plain(vars(value) if isinstance(value, Holder) else value)


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("f", [popped, another, updated, emptied, in_a_loop, attributes, of_a_call])
def test_results_have_the_keys_that_there_are(f: Any, executor: str) -> None:
    g = on(executor, f)
    for x in (3.0, -1.0):
        got, want = (repr(shown(fn(rt.constant(x)))) for fn in (g, f))
        assert got == want, x


def other_order(x):
    d = {"a": x, "b": x}
    if x > 0:
        d = {"b": x, "c": x + 1, "a": x}
    return d, list(d)


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_dicts_whose_order_differs(executor: str) -> None:
    g = on(executor, other_order)
    for x in (3.0, -1.0):
        got, want = (repr(shown(fn(rt.constant(x)))) for fn in (g, other_order))
        assert got == want, x


def test_dicts_of_several_types_whose_order_differs() -> None:
    def f(x):
        d = {"a": x, "b": 1}
        if x > 0:
            d = {"b": 1, "c": x, "a": x}
        return d

    with pytest.raises(rt.errors.StagingError, match="'d' is .* if the condition holds"):
        rt.function(f)(rt.constant(1.0))


def order_in_the_other_branch(x):
    d = {"a": x, "b": x}
    if x > 0:
        del d["a"]
    else:
        d["c"] = 0.0
        for k in d:
            d["c"] = d["c"] * 10.0 + (1.0 if k == "a" else 2.0)
    return d, len(d)


def order_of_new_keys(x):
    d = {"a": x}
    for _ in rt.range(2):
        d["b"] = x
        if x > 0:
            d["c"] = x
    return d


def taken_out_and_put_in(x):
    d = {"a": x, "b": x}
    if x > 0:
        del d["b"]
        d["b"] = x + 1
    return d


def one_of_two(x):
    r, s = {2: x, 3: x * 2}, {2: x, 3: x}
    p = r if x > 0 else s
    del p[2]
    before = len(p)
    p[7] = x
    return before, len(p), sum(p.values()), 3 in p, p, r, s


def one_of_two_with_text(x):
    r, s = {"a": x, "b": x * 2}, {"a": x, "c": x}
    p = r if x > 0 else s
    y = p.pop("a")
    return len(p), y, dict(p), p.get("c", 0.5), r, s


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("f", [
    order_in_the_other_branch, order_of_new_keys, taken_out_and_put_in, one_of_two, one_of_two_with_text])
def test_keys_have_their_order(f: Any, executor: str) -> None:
    g = on(executor, f)
    for x in (3.0, -1.0):
        got, want = (repr(shown(fn(rt.constant(x)))) for fn in (g, f))
        assert got == want, x


def test_keys_whose_order_depends_on_the_path() -> None:
    def f(x):
        d = {}
        if x > 0:
            d["x"] = x
            d["y"] = x
        else:
            d["y"] = x
            d["x"] = x
        return d

    with pytest.raises(rt.errors.StagingError, match="the keys of a dict get another order on some paths"):
        rt.function(f)(rt.constant(1.0))
