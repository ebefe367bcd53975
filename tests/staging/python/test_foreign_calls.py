"""What code in C and in libraries is given while a function is traced: text with values in it, files, dicts."""
from __future__ import annotations

import collections
import contextlib
import copy
import csv
import dataclasses
import decimal
import functools
import hashlib
import inspect
import io
import itertools
import json
import logging
import operator
import os
import pprint
import queue
import random
import re
import shutil
import subprocess
import sys
import textwrap
import time
import types
import warnings
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autograph as ag
import runtime as rt
from runtime.errors import StagingError
from tests.traced_once import on

executors = pytest.mark.parametrize("executor", ["numpy", "native"])
TEXT = ("text with the value of a tensor in it is known only when the graph runs: it can be printed, returned, "
        "compared, and be part of other text, but not be")
INTO = ("text with the value of a tensor in it is known only when the graph runs, and is needed here while the function"
        " is traced")
ASK = ("Use methods of text, int(), float(), a loop over its characters or a dict, which the graph computes; or ask the"
       " tensor itself, such as `x == 1`.")
PATTERN = re.compile("3")


def message_of(fn: Callable[..., Any], *args: Any) -> tuple[str, str]:
    """What the error of a traced function says, and what to do, if it names a line of the function."""
    with pytest.raises(StagingError) as caught:
        rt.function(fn)(*(args or (rt.constant(3),)))
    first, source, *rest = str(caught.value).splitlines()
    place, _, what = first.partition(": ")
    file, _, line = place.rpartition(":")
    lines = [line for _, _, line in fn.__code__.co_lines() if line]
    assert file == __file__
    assert min(lines) <= int(line) <= max(lines)
    assert source.lstrip().startswith(f"{line} |")
    return what, rest[-1]


# Text

@pytest.mark.parametrize("fn", [
    lambda x: str.encode(f"{x}"),
    lambda x: complex(f"{x}"),
    lambda x: bytes(f"{x}", "utf8"),
    lambda x: bytearray(f"{x}", "utf8"),
    lambda x: format(7, f"{x}"),
    lambda x: f"{7:{x}}",
    lambda x: f"{x:{x}}",
    lambda x: f"{7:{f'{x}'}}",
    lambda x: f"{x}" % ("a",),
])
def test_what_python_looks_into_is_an_error(fn: Callable[[Any], Any]) -> None:
    what, remedy = message_of(fn)
    assert (what, remedy) == (INTO, ASK) or what == (
        "text that only the graph knows is given to encode() here, which makes a bytes of it")


@pytest.mark.parametrize(("name", "fn"), [
    ("re.match", lambda x: re.match("3", f"{x}")),
    ("re.sub", lambda x: re.sub("3", "4", f"{x}")),
    ("re.Pattern.match", lambda x: PATTERN.match(f"{x}")),
    ("open", lambda x: open(f"out{x}.txt", "w")),
    ("json.dumps", lambda x: json.dumps({"a": [f"{x}"]})),
    ("json.loads", lambda x: json.loads(f"[{x}]")),
    ("textwrap.fill", lambda x: textwrap.fill(f"{x} ab", 2)),
    ("datetime.datetime.strptime", lambda x: datetime.strptime(f"200{x}", "%Y")),
    ("os.path.join", lambda x: os.path.join("a", f"{x}")),
    ("pathlib.Path", lambda x: Path(f"{x}")),
    ("decimal.Decimal", lambda x: decimal.Decimal(f"{x}")),
    ("io.StringIO", lambda x: io.StringIO(f"{x}")),
    ("io.StringIO.write", lambda x: io.StringIO().write(f"{x}")),
    ("csv.writer.writerow", lambda x: csv.writer(io.StringIO()).writerow([f"{x}"])),
    ("csv.writer.writerow", lambda x: csv.writer(io.StringIO()).writerow(f"{x}" for _ in range(2))),
    ("io.StringIO.writelines", lambda x: io.StringIO().writelines(f"{x}" for _ in range(2))),
    ("logging.info", lambda x: logging.info("a %s", f"{x}")),
    ("warnings.warn", lambda x: warnings.warn(f"{x}")),
    ("operator.countOf", lambda x: operator.countOf("abc3", f"{x}")),
    ("operator.methodcaller", lambda x: operator.methodcaller("find", f"{x}")("abc3")),
    ("numpy.array", lambda x: np.array([f"{x}"])),
])
def test_what_is_given_to_other_code_is_an_error(name: str, fn: Callable[[Any], Any]) -> None:
    what, remedy = message_of(fn)
    assert what == f"{TEXT} given to {name!r}, which is called while the function is traced"
    assert remedy == (f"Ask the tensor itself, such as `x == 1`; or call {name!r} when the graph runs, in a function"
                      " that rt.py_function is given.")


def test_no_handler_of_the_users_sees_it() -> None:
    def found(x):
        try:
            return complex(f"{x}").real
        except (TypeError, ValueError):
            return -1.0

    assert message_of(found) == (INTO, ASK)


@pytest.mark.parametrize(("name", "fn"), [
    ("logging.warning", lambda x: logging.warning("a %s", x)),
    ("csv.writer.writerow", lambda x: csv.writer(io.StringIO()).writerow([1, x])),
    ("pprint.pformat", lambda x: pprint.pformat({"a": x})),
])
def test_a_tensor_that_other_code_writes_is_an_error(name: str, fn: Callable[[Any], Any]) -> None:
    assert message_of(fn) == (
        f"{name!r} is called while the function is traced, and the value of a tensor that it is given is known only"
        " when the graph runs",
        f"Print it, which may be to a file; or call {name!r} when the graph runs, in a function that rt.py_function is"
        " given.")


@contextlib.contextmanager
def within(text):
    yield text


class Named(dict[str, Any]):
    def get(self, key, default=None):
        return dict.get(self, key, default)


@dataclasses.dataclass
class Point:
    x: object
    name: str = "p"


Pair = collections.namedtuple("Pair", "a b")


def held(x):
    """What only holds text, or puts it together."""
    t = f"{x}"
    with within(t) as inside:
        parts = [inside, *itertools.chain([t], ["b"])]
    parts.append(functools.reduce(operator.add, [t, "c"]))
    parts += collections.deque([t])
    waiting: queue.Queue[str] = queue.Queue()
    waiting.put(t)
    parts.append(waiting.get())
    parts += [Pair(t, 1).a, Named(a=t).get("a"), types.SimpleNamespace(a=t).a, Point(t).x]
    parts += copy.deepcopy([t])
    parts.append(operator.itemgetter(1)(["a", t]))
    parts += map("<{}>".format, [t, x])
    parts += ["a_b".replace("_", t), "ab".translate({97: t}), "{a}".format_map({"a": t}), str.join(t, ["a", "b"])]
    parts += ["%s %r %%" % (t, t), "%-3s|%s" % ("a", t), ascii(f"é{x}"), repr(f"it's {x}"), repr(f'"{x}"')]  # noqa: UP031
    parts += [repr(f"it's \"{x}\""), str(t), "a".__add__(t), "%d %s" % (5, t)]  # noqa: UP031
    return ", ".join(parts)


@executors
def test_what_holds_text_and_puts_it_together(executor: str) -> None:
    staged = on(executor, held)
    for i in 3, 14:
        assert staged(rt.constant(i)) == held(i)


def plainly(x):
    """The same callees of plain values, in traced code."""
    class Given(Exception):
        def __init__(self, text):
            super().__init__(text)

    return [
        re.sub("a", "b", "aa"), json.dumps([1]), str(Path("a") / "b"), "a,b".split(","), int("12", 16),
        bytes("a", "utf8"), "%5s" % "a", "{:>5}".format("a"), hashlib.md5(b"a").hexdigest(),  # noqa: UP031
        Given("a").args, inspect.currentframe().f_code.co_name, sys._getframe().f_code.co_name, str.upper("a"),  # type: ignore[union-attr]
        collections.namedtuple("N", "a").__module__, sorted(["b", "A"], key=str.lower), "abc3".find("3"),
    ]


def test_plain_values_are_given_as_they_are() -> None:
    assert rt.function(plainly)(rt.constant(1)) == plainly(1)
    assert ag.convert(plainly)(1) == plainly(1)


def looked_for(text, part):
    return text.find(part), "abc3".find(part)


def test_a_call_that_plain_code_has_met_looks_when_it_is_traced() -> None:
    converted = ag.convert(looked_for)
    for _ in range(20):
        assert converted("abc", "c") == (2, 2)
    staged = rt.function(lambda x: looked_for("abc", f"{x}"))
    for _ in range(2):
        assert staged(rt.constant(3)) == (-1, 3)
        assert converted("abc", "c") == (2, 2)
    assert rt.function(lambda x: looked_for("abc", "c"))(rt.constant(3)) == (2, 2)


def places(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("a")
        warnings.warn("b", UserWarning, 1)
    kept = Kept()
    logger = logging.getLogger("places")
    logger.propagate = False
    logger.addHandler(kept)
    logger.warning("a")
    logger.log(40, "b")
    try:
        raise ValueError
    except ValueError:
        logger.exception("c")
    logger.removeHandler(kept)
    return [(Path(each.filename).name, each.lineno) for each in caught], kept.places


class Kept(logging.Handler):
    def __init__(self):
        super().__init__()
        self.places = []

    def emit(self, record):
        self.places.append((record.funcName, record.lineno))


def test_warnings_and_records_tell_the_users_line() -> None:
    assert rt.function(places)(rt.constant(1)) == places(1)


# Text of what holds tensors

class Shown:
    def __init__(self, x):
        self.x = x

    def __repr__(self):
        return f"Shown({self.x})"


def shown(x, v):
    print(f"{(x, v)}", str([x]), f"{ {'a': x} }", sep="|")
    if x > 10:
        raise ValueError(f"too much: {[x]}")
    n = 0
    for _ in rt.range(x):
        n += 1
    return [
        f"{(x, v)}", str([x, v]), repr([x]), format((x,)), f"{ {'a': [x]} }", "%s" % [x], f"{[x]}", str(Point(x)),
        f"{[Point(x)]}", f"{[Shown(x)]}", f"{Pair(x, 1)}", f"{collections.deque([x])}", repr(ValueError(x)),
        str(types.SimpleNamespace(a=x)), f"{[n, 1]}", "{} {}".format([x], x), ascii([x]),  # noqa: UP032
    ]


@executors
def test_text_of_containers_is_that_of_eager_tensors(executor: str, capsys: pytest.CaptureFixture[str]) -> None:
    staged = on(executor, shown)
    for i, v in (3, [1.5, 2.0]), (4, [[1.0, 2.0], [3.0, 4.0]]), (2, []):
        args = rt.constant(i), rt.constant(v, rt.float32)
        want = shown(*args)
        said = capsys.readouterr().out
        assert staged(*args) == want
        assert capsys.readouterr().out == said
    with pytest.raises(ValueError, match=r"too much: \[<rt.Tensor: shape=\(\), dtype=int32, numpy=11>\]"):
        staged(rt.constant(11), rt.constant([1.0]))


VARIABLES = rt.Variable(3), rt.Variable([1.5, 2.0])


@executors
def test_text_of_variables(executor: str) -> None:
    def text(x):
        return f"{list(VARIABLES)}", repr(VARIABLES[0])

    assert on(executor, text)(rt.constant(1)) == text(1)


def caught(x):
    try:
        if x > 1:
            raise ValueError(f"it's \"{[x]}\"\n")
    except ValueError as error:
        print(f"{error}", str(error), [error], repr(str(error)))


@executors
def test_text_of_an_error_that_is_caught(executor: str, capsys: pytest.CaptureFixture[str]) -> None:
    staged = on(executor, caught)
    for i in 1, 5:
        caught(rt.constant(i))
        said = capsys.readouterr().out
        staged(rt.constant(i))
        assert capsys.readouterr().out == said


def test_errors_and_debuggers_see_the_tensor_of_the_graph() -> None:
    seen: list[str] = []

    @ag.do_not_convert
    def note(value):
        seen.append(repr([value]))

    rt.function(lambda x: note(x))(rt.constant(1))
    assert seen == ["[<rt.Tensor 'x' shape=() dtype=int32>]"]


# Dicts and attributes

def dict_by_name(x):
    d = {}
    if x > 5:
        d["a"] = x
    other = {"a": 5}
    dict.update(other, d)
    return (dict.get(d, "a", 0), dict.__contains__(d, "a"), "a" in dict.copy(d), dict.setdefault(dict.copy(d), "a", 9),
            other["a"], dict.pop(d, "a", 1))


@executors
def test_methods_by_the_name_of_the_class(executor: str) -> None:
    staged = on(executor, dict_by_name)
    for i in 3, 7:
        assert [int(each) for each in staged(rt.constant(i))] == [int(each) for each in dict_by_name(i)]


def keys_of(x):
    d = {}
    if x > 5:
        d["a"] = x
    return list(dict.keys(d))


def length_of(x):
    d = {}
    if x > 5:
        d["a"] = x
    return dict.__len__(d)


def items_of(x):
    d = {}
    if x > 5:
        d["a"] = x
    return [k for k, _ in dict.items(d)]


def view_from_before(x):
    d = {}
    view = d.keys()
    if x > 5:
        d["a"] = x
    return ",".join(view)


def view_for_c(x):
    d = {}
    view = d.keys()
    if x > 5:
        d["a"] = x
    return json.dumps([view])


@pytest.mark.parametrize("fn", [keys_of, items_of])
def test_methods_of_the_class_dict_ask_for_the_keys(fn: Callable[[Any], Any]) -> None:
    for x in (6.0, 4.0):
        assert rt.function(fn)(rt.constant(x)) == fn(x)


@pytest.mark.parametrize("fn", [length_of, view_from_before, view_for_c])
def test_keys_that_only_the_graph_knows(fn: Callable[[Any], Any]) -> None:
    what, _ = message_of(fn)
    assert what == ("whether there is d['a'] is known only when the graph runs, as it is set on some ways through a"
                    " staged statement only, and Python asks here for the keys of that dict")


class Thing:
    pass


def attributes(x):
    o = Thing()
    if x > 5:
        o.a = x
    return len(o.__dict__)


def test_attributes_that_only_the_graph_knows() -> None:
    what, _ = message_of(attributes)
    assert what == ("whether there is o.a is known only when the graph runs, as it is set on some ways through a staged"
                    " statement only, and Python asks here for the attributes of that object")


def by_dict(x):
    o = Thing()
    o.a = x
    o.b = 1
    if x > 5:
        o.__dict__["a"] = x + 1
        o.__dict__.update(b=x)
    return o.__dict__["a"], o.b, len(o.__dict__)


@executors
def test_attributes_by_their_dict(executor: str) -> None:
    staged = on(executor, by_dict)
    for i in 3, 7:
        assert [int(each) for each in staged(rt.constant(i))] == list(by_dict(i))


# Files

MEMORY = io.StringIO()
BYTES = io.BytesIO()


def memory(x):
    for _ in rt.range(x):
        MEMORY.write("a")


def in_bytes(x):
    if x > 1:
        BYTES.write(b"a")


def own(x):
    file = io.StringIO()
    for _ in rt.range(x):
        file.write("a")
    return file.getvalue()


def rows(x):
    file = io.StringIO()
    writer = csv.writer(file)
    for _ in rt.range(x):
        writer.writerow(["a"])
    return file.getvalue()


@pytest.mark.parametrize(("fn", "name"), [
    (memory, "'MEMORY' (StringIO)"), (in_bytes, "'BYTES' (BytesIO)"), (own, "'file' (StringIO)"),
    (rows, "'writer' (StringIO)"),
])
def test_staged_code_that_writes_to_a_file_is_an_error(fn: Callable[[Any], Any], name: str) -> None:
    what, remedy = message_of(fn)
    assert what == (f"staged code changes {name}: that would happen once, while the code is traced, and not each time"
                    " it runs")
    assert remedy == ("Use a list, a tensor or an rt.Variable, or change it outside of staged code." if fn is in_bytes
                      else "Print to it, by print(..., file=...): the graph does that.")
    assert (MEMORY.getvalue(), BYTES.getvalue()) == ("", b"")


@pytest.mark.parametrize("mode", ["w", "w+", "a"])
def test_a_file_of_the_system_is_left_as_it_was(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("abc")
    with path.open(mode) as file:
        def write(x):
            for _ in rt.range(x):
                file.write("d")

        what, _ = message_of(write)
        assert what.startswith("staged code changes 'file' (TextIOWrapper): that would happen once")
    assert path.read_text() == ("" if "w" in mode else "abc")


def inside(x):
    n = 0
    for _ in rt.range(x):
        file = io.StringIO()
        file.write("ab")
        n += len(file.getvalue())
    return n


def printed(x):
    for i in rt.range(x):
        print("a", i, file=MEMORY)


@executors
def test_files_that_staged_code_may_use(executor: str) -> None:
    assert int(on(executor, inside)(rt.constant(3))) == 6
    on(executor, printed)(rt.constant(2))
    assert MEMORY.getvalue() == "a 0\na 1\n"
    MEMORY.seek(0)
    MEMORY.truncate()


def read_back(x):
    file = io.StringIO()
    print(x, file=file)
    return file.getvalue()


def test_what_the_graph_prints_is_not_there_yet() -> None:
    assert message_of(read_back) == (
        "what is in this StringIO is known only when the graph runs, as the traced function prints to it",
        "Call 'io.StringIO.getvalue' after the traced function, or put the text together without a file.")


def to_streams(x):
    count = sys.stdout.write("begin\n")
    for i in rt.range(x):
        sys.stdout.write(f"row {i}\n")
        sys.stdout.writelines(["a", "b\n"])
    if x > 2:
        sys.stderr.write("many\n")
    return count


@executors
def test_writing_to_a_standard_stream_is_printing(executor: str, capsys: pytest.CaptureFixture[str]) -> None:
    staged = on(executor, to_streams)
    for i in 2, 3, 2:
        want = to_streams(i)
        said = capsys.readouterr()
        assert staged(rt.constant(i)) == want
        assert capsys.readouterr() == said


def test_how_much_is_written_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    def count(x):
        return sys.stdout.write(f"{x}") + 1

    assert message_of(count) == (
        "how many characters are written is known only when the graph runs, as the text has the value of a tensor in"
        " it",
        "Leave what `write` returns.")


# What acts on the world

def slept(x):
    for _ in rt.range(x):
        time.sleep(0)


def asked(x):
    return len(input()) if x > 1 else 0


def logged(x):
    if x > 1:
        logging.warning("much")


def made(x):
    if x > 1:
        os.makedirs("/nowhere/at/all")


def copied(x):
    if x > 1:
        shutil.copy("/nowhere", "/nowhere else")


def opened(x):
    if x > 1:
        open("/nowhere/at/all", mode="w")


def wrote(x):
    if x > 1:
        Path("/nowhere/at/all").write_text("a")


def ran(x):
    if x > 1:
        subprocess.run(["/nowhere"])


@pytest.mark.parametrize(("fn", "name"), [
    (slept, "time.sleep"), (asked, "input"), (logged, "logging.warning"), (made, "os.makedirs"),
    (copied, "shutil.copy"), (ran, "subprocess.run"), (opened, "open"), (wrote, "pathlib.Path.write_text"),
])
def test_staged_code_that_acts_is_an_error(fn: Callable[[Any], Any], name: str) -> None:
    assert message_of(fn) == (
        f"staged code calls {name!r}: that would happen once, while the code is traced, and not each time it runs",
        f"Call it outside of staged loops and branches; or call {name!r} when the graph runs, in a function that"
        " rt.py_function is given.")


def read_lines(x):
    n = 0
    if x > 1:
        for _ in sys.stdin:
            n += 1
    return n


def read_line(x):
    return len(sys.stdin.readline()) if x > 1 else 0


@pytest.mark.parametrize("fn", [read_line, read_lines])
def test_staged_code_that_reads_standard_input(
    fn: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "input").write_text("a\nb\n")
    monkeypatch.setattr(sys, "stdin", (tmp_path / "input").open())
    what, _ = message_of(fn)
    assert what == ("staged code takes items of 'sys.stdin' (TextIOWrapper), an iterator from outside of it: that would"
                    " happen once, while the code is traced, and not each time it runs")
    assert sys.stdin.read() == "a\nb\n"


def test_outside_of_staged_code_these_are_called() -> None:
    def once(x):
        time.sleep(0)
        return logging.getLogger("a").name

    assert rt.function(once)(rt.constant(1)) == "a"


@ag.do_not_convert
def length_left_alone(items: Any) -> int:
    return len(items)


@pytest.mark.parametrize(("call", "name"), [
    (lambda xs: random.Random(1).shuffle(xs), "random.Random.shuffle"), (lambda xs: json.dumps([xs]), "json.dumps"),
    (lambda xs: np.roots(xs), "numpy.roots"),
    (lambda xs: np.random.RandomState(1).choice(xs), "numpy.random.mtrand.RandomState.choice"),
    (lambda xs: np.random.default_rng(0).permutation(xs), "numpy.random.Generator.permutation"),
    (lambda xs: length_left_alone(xs), "length_left_alone"),
    (lambda xs: length_left_alone(items={"a": (xs,)}), "length_left_alone"),
])
def test_items_that_only_the_graph_knows(call: Any, name: str) -> None:
    def f(n: Any) -> Any:
        xs = []
        for i in range(n):
            xs.append(i)
        return call(xs)

    with pytest.raises(StagingError, match=name) as info:
        rt.function(f)(rt.constant(3))
    assert "the items of a list that it is given are known only when the graph runs" in str(info.value)
