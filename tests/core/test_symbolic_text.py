"""Text with values of tensors in it: what may be done with it, and what is an error."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
import runtime as rt
from runtime.errors import OperatorNotAllowedInGraphError, StagingError

INTO = (
    "{file}:{line}: text with the value of a tensor in it is known only when the graph runs: it can be printed, "
    "returned, compared, and be part of other text, but not be looked into, or be a new key\n"
    "    {line} | {source}\n"
)
REMEDY = "Ask the tensor itself, such as `x == 1`; look the text up in a dict that has all its keys before."
executors = pytest.mark.parametrize("executor", ["numpy", "native"])


def key_of_a_dict(i):
    return {f"k{i}": i}


def has_key(i):
    return f"k{i}" in {"k1": 5}


def in_a_set(i):
    found = set()
    found.add(f"{i}")
    return found


def equal(i):
    name = f"k{i}"
    if name == "k1":
        return 1
    return 2


def equal_from_the_right(i):
    return "k1" == "k{}".format(i)  # noqa: UP032


def percent(i):
    return "k%s" % i != "k1"  # noqa: UP031


def joined(i):
    return " ".join([str(i), "1"]) == "1 1"


def replaced(i):
    return "k_".replace("_", str(i)) == "k1"


def less(i):
    return f"{i}" < "2"


def number(i):
    return int(str(i)) + 1


def characters(i):
    return [c for c in f"{i}"]


def one_character(i):
    return f"{i}"[0]


def starts(i):
    return f"{i}".startswith("1")


def upper(i):
    return f"{i}".upper()


def within(i):
    return "1" in f"{i}"


def part_of(i):
    return f"{i}" in "123"


def among(i):
    return f"{i}" in ("1", "2")


def matched(i):
    match f"k{i}":
        case "k1":
            return 1
    return 2


def ordered(i):
    return sorted(["b", f"{i}"])


def attribute(i):
    return getattr(np, f"k{i}", 7)


@pytest.mark.parametrize("fn", [
    key_of_a_dict, has_key, in_a_set, less, number, characters,
    one_character, starts, upper, within, part_of, ordered, attribute,
])
def test_what_looks_into_it_is_an_error(fn: Callable[[Any], Any]) -> None:
    with pytest.raises(StagingError) as caught:
        rt.function(fn)(rt.constant(1))
    place, _, message = str(caught.value).partition(": ")
    assert place.startswith(__file__ + ":")
    assert fn.__code__.co_firstlineno < int(place.rpartition(":")[2]) <= max(
        line for _, _, line in fn.__code__.co_lines() if line)
    assert message.startswith(INTO.partition(": ")[2].partition("\n")[0])
    assert message.endswith(REMEDY)


@executors
@pytest.mark.parametrize("fn", [equal, equal_from_the_right, percent, joined, replaced, among, matched])
def test_it_compares(fn: Callable[[Any], Any], executor: str) -> None:
    staged = rt.function(fn, executor=executor)
    for i in 0, 1, 2:
        want = ag.convert(fn)(rt.constant(i))  # `str` of a tensor is not that of its number
        assert staged(rt.constant(i)).numpy() == want


def test_the_whole_message() -> None:
    with pytest.raises(StagingError) as caught:
        rt.function(key_of_a_dict)(rt.constant(1))
    line = key_of_a_dict.__code__.co_firstlineno + 1
    lines = str(caught.value).splitlines()
    assert [lines[0], lines[1], lines[-1]] == [
        *INTO.format(file=__file__, line=line, source='    return {f"k{i}": i}').splitlines(), REMEDY]


def test_width_of_text() -> None:
    @rt.function
    def padded(i):
        return f"{i!s:>5}"

    with pytest.raises(StagingError, match=(
            "how long text with the value of a tensor in it is, is known only when the graph runs, so it cannot be "
            r"formatted by '>5'\n.*\n.*\nFormat the tensor itself, such as f'\{x:>8\}'\.")):
        padded(rt.constant(1))


@rt.function
def told(name, x):
    print("told", name, x)
    return name


def put_together(i, x):
    name = f"k{i}"
    name += "-" + f"{x:.2f}" * 2
    parts = [name, "%s|%s" % (name, f"{i + 1}")]  # noqa: UP031
    if name:
        parts.append("<{}>".format(f"{i:>3}"))
    if name is None or name == None or not isinstance(name, str):  # noqa: E711
        return None
    print(*parts, sep=", ")
    if i > 0:
        print(f"{name}!", repr(f"{i}"))
    if i > 5:
        raise ValueError(f"{name} is too much")
    assert i != 4, f"{name} is four"
    return {"name": name, "all": " ".join(parts), "told": told(f"{name}?", i)}


@executors
def test_what_may_be_done_with_it(executor: str, capsys: pytest.CaptureFixture[str]) -> None:
    staged = rt.function(put_together, executor=executor)
    for i, x in (1, 2.5), (2, 0.125), (0, 1.0):
        want = put_together(i, x)
        said = capsys.readouterr().out
        assert staged(rt.constant(i), rt.constant(x)) == want
        assert capsys.readouterr().out == said
    for i, kind in (6, ValueError), (4, AssertionError):
        with pytest.raises(kind) as caught:
            staged(rt.constant(i), rt.constant(1.0))
        with pytest.raises(kind) as wanted:
            put_together(i, 1.0)
        assert str(caught.value) == str(wanted.value).partition("\n")[0]  # without what pytest adds


@executors
def test_an_error_that_is_all_has_the_values(executor: str) -> None:
    @rt.function(executor=executor)
    def always(i):
        raise ValueError(f"bad {i}", i + 1)

    for i in 3, 4:
        with pytest.raises(ValueError, match=f"bad {i}") as caught:
            always(rt.constant(i))
        assert int(caught.value.args[1]) == i + 1


@pytest.mark.parametrize("call", [lambda x: np.append(x, 1), lambda x: np.linalg.norm(x)])
def test_errors_within_numpy_have_the_users_line(call: Callable[[Any], Any]) -> None:
    @rt.function
    def f(x):
        return call(x)

    with pytest.raises(OperatorNotAllowedInGraphError) as caught:
        f(rt.constant([1.0]))
    assert str(caught.value).startswith(f"{__file__}:{call.__code__.co_firstlineno}: a tensor cannot become a NumPy")
