"""Text with values of tensors in it: what may be done with it, and what is an error."""
from __future__ import annotations

import collections
import dataclasses
import reprlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
import runtime as rt
from runtime.errors import OperatorNotAllowedInGraphError, StagingError
from tests.traced_once import on

INTO = (
    "{file}:{line}: text with the value of a tensor in it is known only when the graph runs, and is needed here while "
    "the function is traced\n"
    "    {line} | {source}\n"
)
REMEDY = ("Use methods of text, int(), float(), a loop over its characters or a dict, which the graph computes; or ask "
          "the tensor itself, such as `x == 1`.")
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


def one_character(i):
    return f"{i}"[0]


def among(i):
    return f"{i}" in ("1", "2")


def matched(i):
    match f"k{i}":
        case "k1":
            return 1
    return 2


def ordered(i):
    return sorted(["b", f"{i}"])


def encoded(i):
    return bytes(f"{i}", "utf8")


def filled(i):
    return f"{i}" % ("a",)


def attribute(i):
    return getattr(np, f"k{i}", 7)


@pytest.mark.parametrize("fn", [less, ordered])
def test_its_order(fn: Callable[[Any], Any]) -> None:
    for i in (1, 12, 9):
        assert rt.function(fn)(rt.constant(i)) == fn(i)


def test_it_is_looked_for_in_a_dict() -> None:
    traced = rt.function(has_key)
    assert [bool(traced(rt.constant(i))) for i in range(3)] == [False, True, False]


@pytest.mark.parametrize("fn", [key_of_a_dict, in_a_set])
def test_it_is_a_new_key(fn: Callable[[Any], Any]) -> None:
    for i in (1, 12):
        assert rt.function(fn)(rt.constant(i)) == fn(i)


@pytest.mark.parametrize("fn", [encoded, filled, attribute])
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
    staged = on(executor, fn)
    for i in 0, 1, 2:
        want = ag.convert(fn)(rt.constant(i))  # `str` of a tensor is not that of its number
        assert staged(rt.constant(i)).numpy() == want


@executors
@pytest.mark.parametrize("number", [7, 3456])
def test_its_characters(number: int, executor: str) -> None:
    staged = on(executor, one_character)
    assert staged(rt.constant(number)) == str(number)[0]
    assert rt.function(lambda i: ord(f"{i}"[-1]), executor=executor)(rt.constant(number)) == ord(str(number)[-1])


def test_the_whole_message() -> None:
    with pytest.raises(StagingError) as caught:
        rt.function(encoded)(rt.constant(1))
    line = encoded.__code__.co_firstlineno + 1
    lines = str(caught.value).splitlines()
    assert [lines[0], lines[1], lines[-1]] == [
        *INTO.format(file=__file__, line=line, source='    return bytes(f"{i}", "utf8")').splitlines(), REMEDY]


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
    staged = on(executor, put_together)
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
        said, expected = [str(error.value).partition("\n")[0] for error in (caught, wanted)]  # without what pytest adds
        assert said == expected


@executors
@pytest.mark.skipif(not hasattr(BaseException, "add_note"), reason="Python 3.11 added notes")
def test_notes_of_errors(executor: str) -> None:
    @rt.function(executor=executor)
    def noted(i):
        error = ValueError(f"bad {i}")
        error.add_note(f"note {i}")
        error.add_note("plain")
        if i > 0:
            raise error
        return i

    with pytest.raises(ValueError, match="bad 4") as caught:
        noted(rt.constant(4))
    assert caught.value.__notes__ == ["note 4", "plain"]


def test_text_of_a_list_that_grew() -> None:
    @rt.function
    def f(n):
        out = []
        for i in range(n):
            out.append(i)
        return str(out), list.__repr__(out), f"{out!r:}", str({"a": out}), percent("%s", out)

    assert f(rt.constant(2)) == ("[0, 1]", "[0, 1]", "[0, 1]", "{'a': [0, 1]}", "[0, 1]")


@executors
def test_an_error_that_is_all_has_the_values(executor: str) -> None:
    @rt.function(executor=executor)
    def always(i):
        raise ValueError(f"bad {i}", i + 1)

    for i in 3, 4:
        with pytest.raises(ValueError, match=f"bad {i}") as caught:
            always(rt.constant(i))
        assert int(caught.value.args[1]) == i + 1


@ag.do_not_convert
def left_alone(x):
    return f"{x}", str(x), repr([x]), "%s" % x  # noqa: UP031


def test_code_that_is_not_converted_sees_the_tensor_of_the_graph() -> None:
    @rt.function
    def f(x):
        return left_alone(x), "%s" % (left_alone(x)[0],), f"{x}"  # noqa: UP031

    seen = "<rt.Tensor 'x' shape=() dtype=int32>"
    assert f(rt.constant(1)) == ((seen, seen, f"[{seen}]", seen), seen, "1")

    @ag.do_not_convert
    def fixed(x):
        return f"{x:.2f}"

    with pytest.raises(OperatorNotAllowedInGraphError, match="a tensor cannot be formatted by '.2f' here") as caught:
        rt.function(lambda x: fixed(x))(rt.constant(1.0))
    assert str(caught.value).endswith("Format it in converted code, or in a function that rt.py_function is given.")


def test_library_code_is_given_no_text_with_tensors() -> None:
    @ag.do_not_convert
    def look(text):
        return str(text)

    with pytest.raises(StagingError, match="text with the value of a tensor in it is known only when the graph runs"):
        rt.function(lambda x: look(f"{x}"))(rt.constant(1))


class Parent:
    def __repr__(self):
        return "Parent()"


@dataclasses.dataclass
class Node:
    value: Any
    others: list[Any] = dataclasses.field(default_factory=list)
    hidden: int = dataclasses.field(default=0, repr=False)


class Named(list):
    def __str__(self):
        return f"Named{super().__repr__()}"


class Wrapped:
    def __init__(self, value):
        self.value = value

    @reprlib.recursive_repr()
    def __repr__(self):
        return f"Wrapped({self.value!r})"


class Wrong:
    def __str__(self):
        return 7


Point = collections.namedtuple("Point", "x y")


def containers(i):
    node = Node(i)
    node.others += [node, Parent()]
    wrapped = Wrapped([i])
    wrapped.value.append(wrapped)
    around = [i]
    around.append(around)
    default = collections.defaultdict(int, {"a": i})
    return [
        str(node), repr(Named([i])), str(Named([i])), f"{wrapped}", str(around), str(default), repr({}.keys()),
        str({"a": [i]}.values()), str({"a": i}.items()), str(collections.deque([i], maxlen=2)),
        str(collections.UserList([i])), str(collections.UserDict(a=i)), str(collections.OrderedDict(a=i)),
        repr(Point(i, "y")), str(ValueError(i, "x")), str(KeyError(i)), repr(KeyError("k", i)), str({frozenset([1])}),
        str(set()), str(types.SimpleNamespace(a=i, b="c")), list.__repr__([i]), object.__str__([i]), [i].__repr__(),
    ]


def percent(template, values):
    return template % values


def methods_of_text(i):
    number = f"{i}"
    return [
        "{0[0]} {name!r:}".format([number], name="x"), f"{(3).real} {number}",
        "{:{}}|".format("a", 3), "{:>{w}}|".format(7, w=4) + number, "{a}".format_map({"a": number}),
        "a-b-a".replace("a", number), "a-b-a".replace("a", number, 1), "ab".replace("", number),
        "ab".replace("", number, 0), "ab".replace("", number, 2), "ab".translate({97: number}),
        percent("%(a)s %(b)3d%%", {"a": number, "b": 5}), percent("%s|%r|%5s|%*d", (number, "it's", "x", 4, 2)),
        percent("%s", [i]), percent("%a %%", number), percent("none", {}), number * 2, 2 * number,
        number.join("ab"), "".join([]),
        ascii([number, "é"]), f"{number!r}", "a" + number + "b", f"{'é'!a}{number}",
    ]


@executors
@pytest.mark.parametrize("fn", [containers, methods_of_text])
def test_text_of_a_tensor_in_all_places(fn: Callable[[Any], Any], executor: str) -> None:
    staged = on(executor, fn)
    for i in 1, 12:
        assert staged(rt.constant(i)) == fn(rt.constant(i))


@pytest.mark.parametrize(("fn", "message"), [
    (lambda i: str(Wrong()), r"__str__ returned non-string \(type int\)"),
    (lambda i: percent("%s %s", (f"{i}",)), "not enough arguments for format string"),
    (lambda i: percent("%s", (f"{i}", i)), "not all arguments converted during string formatting"),
    (lambda i: ", ".join([f"{i}", 1]), "sequence item 1: expected str instance, int found"),
    (lambda i: f"{i}" + 1, "unsupported operand type"),
])
def test_errors_are_pythons(fn: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        rt.function(fn)(rt.constant(1))


@executors
def test_a_class_pattern_does_not_miss_it(executor: str) -> None:
    def f(i):
        match f"{i}":
            case str():
                return 1
        return 2

    assert on(executor, f)(rt.constant(1)) == 1


@pytest.mark.parametrize("call", [lambda x: np.ma.array(x), lambda x: np.matrix(x)])
def test_errors_within_numpy_have_the_users_line(call: Callable[[Any], Any]) -> None:
    @rt.function
    def f(x):
        return call(x)

    with pytest.raises(OperatorNotAllowedInGraphError) as caught:
        f(rt.constant([1.0]))
    assert str(caught.value).startswith(f"{__file__}:{call.__code__.co_firstlineno}: a tensor cannot become a NumPy")
