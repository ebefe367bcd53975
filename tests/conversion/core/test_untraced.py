"""Tracers see nothing of the tool, and the recursion limit leaves user code as deep as it would be in Python."""
from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from functools import partial
from types import FrameType
from typing import Any

import pytest

import autograph as ag
from autograph.core.backend import announce, python
from autograph.core.deep_stack import lower_limit, raise_limit
from autograph.core.tracebacks import is_internal
from autograph.core.untraced import unseen
from autograph.dispatch import converted_call
from runtime.staging.backend import BACKEND


class Pair:
    def __init__(self, first, second=0):
        self.first = first
        self.second = second

    def total(self, scale=1):
        return scaled(self.first + self.second, by=scale)

    def __getitem__(self, index):
        if index:
            return self.second
        return self.first

    def __setitem__(self, index, value):
        self.second = value

    def __bool__(self):
        return self.first > 0


def scaled(x, by=1):
    return int(x) * by


def odd(items):
    for item in items:
        if item % 2:
            yield item


def everything(items):
    def closure(x):
        return scaled(x) + len(items)

    pair = Pair(1)
    pair[1] = 5
    pair[1] += 1
    assert pair, "false"
    out = [closure(x) for x in odd(items) if x]
    match pair:
        case 3:
            pass
        case _:
            out.append(pair.total(scale=2))
    while not pair or len(out) < 4:
        out.append(partial(scaled, by=3)(2))
    out[0:0] = sorted(map(lambda x: -x, out))
    return out if pair and out else None


def events_of(fn, *args):
    """Every event that a trace function is told of while `fn` runs."""
    seen: list[tuple[str, str]] = []

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        seen.append((frame.f_code.co_filename, event))
        return trace

    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        result = fn(*args)
    finally:
        kept = sys.gettrace()
        sys.settrace(outer)
    assert kept is trace
    return seen, result


@pytest.mark.parametrize("asks", [False, True])
def test_a_tracer_sees_no_frame_of_the_tool(asks, monkeypatch):
    announce(BACKEND)
    for name in python.__slots__ if asks else ():  # builtins ask their arguments for a backend
        monkeypatch.setattr(python, name, None)
    expected = everything([1, 2, 3])
    seen, result = events_of(ag.convert(everything), [1, 2, 3])
    assert result == expected
    assert {name for name, _ in seen if is_internal(name)} == set()
    own = [event for name, event in seen if name == __file__]
    theirs = [event for name, event in events_of(everything, [1, 2, 3])[0] if name == __file__]
    assert (own.count("call"), own.count("return")) == (theirs.count("call"), theirs.count("return"))


def test_a_tracer_sees_the_tool_if_asked_for():
    program = (
        "import sys, autograph\n"
        "def g(x): return x\n"
        "def f(x): return g(x)\n"
        "seen = set()\n"
        "f = autograph.convert(f)\n"
        "sys.settrace(lambda frame, event, arg: seen.add(frame.f_code.co_filename))\n"
        "f(1)\n"
        "sys.settrace(None)\n"
        "print(any('untraced' in name for name in seen))\n"
    )
    path = os.path.join(os.path.dirname(__file__), "..", "..", "..")
    for setting, shown in (("1", "True"), ("", "False")):
        environment = {**os.environ, "PYTHONPATH": path, "AUTOGRAPH_FULL_TRACEBACK": setting}
        source = f"import linecache\ntext = {program!r}\nlinecache.cache['p.py'] = (len(text), None, "\
                 "text.splitlines(True), 'p.py')\nexec(compile(text, 'p.py', 'exec'))\n"
        done = subprocess.run([sys.executable, "-c", source], env=environment, capture_output=True, text=True)
        assert (done.stdout.strip(), done.stderr) == (shown, "")


def test_a_tracer_comes_back_after_an_error():
    @unseen
    def fails(x):
        assert sys.gettrace() is None
        raise ValueError(x)

    def call():
        with pytest.raises(ValueError, match="7"):
            fails(7)
        return 3

    seen, result = events_of(call)
    assert result == 3
    assert (__file__, "return") in seen


def test_a_tracer_written_in_c_stays(monkeypatch):
    class Tracer:  # not a function or method: as the tracer of coverage
        def __call__(self, frame, event, arg):
            return self

    tracer = Tracer()
    outer = sys.gettrace()
    sys.settrace(tracer)
    try:
        found = unseen(sys.gettrace)()
    finally:
        sys.settrace(outer)
    assert found is tracer


def test_what_is_unseen_keeps_its_name_and_arguments():
    @unseen
    def named(a, /, *, b=2):
        """Text."""
        return a, b

    assert (type(named).__name__, named.__doc__, named(1), named(1, b=3)) == ("named", "Text.", (1, 2), (1, 3))


# --- The recursion limit -----------------------------------------------------------------------------------


class Node:
    def __init__(self, count=None):
        if count is not None:
            count[0] += 1
            Node(count)

    def depth(self, count):
        count[0] += 1
        return self.depth(count)


def deep(count):
    count[0] += 1
    return deep(count)


def deep_closure():  # not one with defaults: CPython 3.13.0 sets those no limit
    def closure(count):
        count[0] += 1
        return closure(count)

    return closure


def frames_until_the_limit(fn):
    count = [0]
    gc.disable()  # a callback of the collector has no frame there either
    try:
        with pytest.raises(RecursionError):
            fn(count)
    finally:
        gc.enable()
    return count[0]


@pytest.mark.parametrize("fn, fewer", [(deep, 0), (Node().depth, 0), (Node, 0), (deep_closure(), 5)],
                         ids=["function", "method", "class", "closure"])
def test_recursion_is_as_deep_as_in_python(fn, fewer):
    """A closure is looked up at each call, which takes some frames at the end."""
    converted = converted_call.call(fn) if fn is Node else ag.convert(fn)
    frames_until_the_limit(converted)
    limit = sys.getrecursionlimit()
    assert frames_until_the_limit(converted) >= frames_until_the_limit(fn) - fewer
    assert sys.getrecursionlimit() == limit


def test_a_callee_converts_where_few_frames_are_left():
    namespace: dict[str, Any] = {"ag": ag}
    source = "".join(f"def leaf{i}(x):\n    if x:\n        return x + {i}\n    return 0\n" for i in range(60))
    source += "def down(n, leaves):\n    if n:\n        return down(n - 1, leaves)\n" \
              "    return [leaf(1) for leaf in leaves]\n"
    import linecache

    linecache.cache["leaves.py"] = (len(source), None, source.splitlines(True), "leaves.py")
    exec(compile(source, "leaves.py", "exec"), namespace)
    down = ag.convert(namespace["down"])

    def levels():
        frame, depth = sys._getframe(), 0
        while frame is not None:
            frame, depth = frame.f_back, depth + 1
        return depth

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(levels() + 150)
    try:
        for i, left in enumerate(range(20, 60)):  # frames that are left where an unknown function is called
            assert down(150 - left, [namespace[f"leaf{i}"]]) == [1 + i]
    finally:
        sys.setrecursionlimit(limit)
    assert id(namespace["leaf0"].__code__) in converted_call.makers


def test_limits_of_several_users():
    before = sys.getrecursionlimit()
    first = raise_limit(100)
    second = raise_limit(50)
    assert (first, second, sys.getrecursionlimit()) == (before + 100, before + 150, before + 150)
    lower_limit(first)
    assert sys.getrecursionlimit() == before + 150
    lower_limit(second)
    assert sys.getrecursionlimit() == before


# --- Code that conversion itself uses --------------------------------------------------------------------------


def test_what_conversion_calls_is_not_converted():
    assert converted_call.call(scaled) is not scaled
    converted_call.makers.pop(id(scaled.__code__))
    converted_call.functions.clear()
    found: list[Any] = []

    def work() -> None:
        assert converted_call.call(scaled) is scaled
        thread = threading.Thread(target=lambda: found.append(converted_call.call(scaled)))
        thread.start()
        thread.join()

    converted_call.at_work.run(work)
    assert found[0] is not scaled
    assert converted_call.call(scaled) is not scaled


# --- What refers to a function ----------------------------------------------------------------------------------


@ag.do_not_convert
def left_alone(x):
    return x


def calls_two(first, second):
    return [fn(3) for fn in (first, second)]


def test_what_stands_for_itself_gets_into_no_table_by_one_call():
    def dicts():
        return [d for d in gc.get_referrers(left_alone) if isinstance(d, dict)]

    before = dicts()
    assert ag.convert(calls_two)(scaled, left_alone) == [3, 3]
    assert dicts() == before
