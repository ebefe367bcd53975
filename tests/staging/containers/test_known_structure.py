"""`rt.nest` and libraries, given lists and dicts that the graph makes or chooses."""
from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from traced_once import on

import runtime as rt
from runtime import nest


def chosen(x: Any) -> Any:
    a, b = [1, [2, x]], [3, [4, x * 2]]
    return a if x > 0 else b


def flattened(x: Any) -> Any:
    return nest.flatten(chosen(x)), nest.is_nested(chosen(x)), nest.flatten({"k": chosen(x), "j": x})


def mapped(x: Any) -> Any:
    return nest.map_structure(lambda v, w: v * 2 + w, chosen(x), [1, [1, 1]])


def packed(x: Any) -> Any:
    found = chosen(x)
    nest.assert_same_structure(found, [0, [0, 0]])
    return nest.pack_sequence_as(found, [x, x + 1, x + 2])


def chosen_dicts(x: Any) -> Any:
    a, b = {"p": 1, "q": [x]}, {"p": 2, "q": [x + 1]}
    d = a if x > 0 else b
    return nest.flatten(d), nest.map_structure(lambda v: v + 1, d)


def of_known_length(x: Any) -> Any:
    out = [x, x]
    if x > 0:
        out[0] = x + 1
    else:
        out[1] = x - 1
    return nest.flatten([out, x]), out


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [*map(plain, value)] if isinstance(value, (list, tuple)) else getattr(value, "numpy", lambda: value)()


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [flattened, mapped, packed, chosen_dicts, of_known_length])
def test_nest_takes_containers_of_the_graph(fn: Any, executor: str) -> None:
    staged = on(executor, fn)
    for x in 1.5, -2.5:
        assert plain(staged(rt.constant(x))) == plain(fn(rt.constant(x)))


def grown(n: Any) -> Any:
    out = []
    for i in rt.range(n):
        out.append(i)
    return nest.flatten(out)


def lengths_differ(x: Any) -> Any:
    a, b = [1, 2], [3, 4, 5]
    xs = a if x > 0 else b
    return nest.map_structure(lambda v: v + 1, xs)


@pytest.mark.parametrize("fn, line", [(grown, 4), (lengths_differ, 3)])
def test_an_unknown_length_is_an_error(fn: Any, line: int) -> None:
    with pytest.raises(rt.errors.StagingError) as caught:
        rt.function(fn)(rt.constant(3))
    lines = str(caught.value).splitlines()
    assert lines[0] == (f"{__file__}:{fn.__code__.co_firstlineno + line}: the number of items of a list in a nested "
                        "structure is known only when the graph runs")
    assert lines[-1] == "Give it a list of known length, or the tensor rt.stack(xs)."


def dumped(x: Any) -> Any:
    return json.dumps([x])


def chosen_list_dumped(x: Any) -> Any:
    return json.dumps(chosen(x))


def chosen_dict_dumped(x: Any) -> Any:
    a, b = {"p": 1}, {"p": 2}
    d = a if x > 0 else b
    return json.dumps(d)


@pytest.mark.parametrize("fn, line, of", [
    (dumped, 1, "GraphTensor"), (chosen_list_dumped, 1, "list"), (chosen_dict_dumped, 3, "dict")])
def test_a_library_that_does_not_take_values_of_the_graph(fn: Any, line: int, of: str) -> None:
    with pytest.raises(TypeError) as caught:
        rt.function(fn)(rt.constant(1.0))
    lines = str(caught.value).splitlines()
    where = f"{__file__}:{fn.__code__.co_firstlineno + line}"
    assert lines[0] == f"{where}: Object of type {of} is not JSON serializable"
    assert lines[-1] == (
        "It is given a value that is known only when the graph runs: call 'json.dumps' when the graph runs, in a "
        "function that rt.py_function is given.")


def refused_by_the_user(value: Any) -> Any:
    raise TypeError("not this")


def test_errors_of_the_user_and_of_plain_values_stay() -> None:
    with pytest.raises(TypeError) as caught:
        rt.function(lambda x: json.dumps(x, default=refused_by_the_user))(rt.constant(1.0))
    assert str(caught.value) == "not this"
    with pytest.raises(TypeError) as caught:
        rt.function(lambda x: (json.dumps({1, 2}), x))(rt.constant(1.0))
    assert str(caught.value) == "Object of type set is not JSON serializable"
    with pytest.raises(struct.error):
        rt.function(lambda x: (struct.pack("i"), x))(rt.constant(1.0))
