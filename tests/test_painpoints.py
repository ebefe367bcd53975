"""What users of such systems suffer from, one test a row; docs/painpoints.md names what else keeps them."""
from __future__ import annotations

import contextlib
import functools
import gc
import io
import linecache
import pdb
import re
import subprocess
import sys
import time
import traceback
import weakref
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from line_events import traced
from test_interpreters import FOUND, ROOT, environment, pure_packages

import autograph as ag
import runtime as rt
from autograph.core.versions import ANNOTATES_LATER

__all__ = ["pure_packages"]
FIVE = rt.constant(5)


def sign(x: Any) -> Any:
    if x > 0:
        return 1
    return -1


def printed(call: Any, *args: Any) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        call(*args)
    return out.getvalue()


def defined(text: str, filename: str, **namespace: Any) -> dict[str, Any]:
    """What a module of this text defines; its source can be read, there is no file."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec", dont_inherit=True), namespace)
    return namespace


def test_01_conversion_is_never_silently_left_out() -> None:
    namespace: dict[str, Any] = {}
    exec("def made(x):\n    return x", namespace)
    for bad in (namespace["made"], len, dict, 3):
        with pytest.raises(ag.ConversionError):
            ag.convert(bad)
    with pytest.raises(ag.ConversionError) as caught:
        ag.convert_source("def f(x):\n    return (x\n", "bad.py")
    assert (caught.value.filename, caught.value.lineno, caught.value.col) == ("bad.py", 2, 11)
    assert str(caught.value).startswith("bad.py:2: syntax error: '(' was never closed\n    2 |     return (x\n")


def test_02_text_without_a_file_converts() -> None:
    text = "def f(x):\n    if x > 0:\n        return 1\n    return 0\n"
    assert "ag__.cond" in ag.convert_source(text)
    assert rt.function(defined(text, "<cell 7>")["f"])(FIVE).numpy() == 1
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    with pytest.raises(ag.NoSourceError) as caught:
        ag.convert(namespace["f"])
    for remedy in ("in a file or a notebook cell", "autograph.convert_source(text, filename)", "linecache"):
        assert remedy in str(caught.value)


def test_03_converted_modules_run_without_their_source() -> None:
    text = ag.convert_source("def f(x):\n    while x > 3:\n        x = x - 2\n    return x\n")
    module = ModuleType("shipped")
    exec(text, vars(module))
    assert module.f(10) == 2
    assert rt.function(module.f, autograph=False)(rt.constant(10)).numpy() == 2


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the grammar of 3.12")
def test_04_newer_grammar_is_kept() -> None:
    text = ag.convert_source("def f[T](x: T) -> T:\n    type A = T\n    if x > 0:\n        x = 1\n    return x\n")
    assert "type A = T" in text
    compile(text, "kept", "exec")


def test_04_nothing_is_pinned_from_above() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert "gast" in text and not re.search(r"(gast|astunparse|numpy)[^\n\"]*(<|==|~=)", text)


@pytest.mark.parametrize("version", FOUND, ids=lambda v: f"{v[0]}.{v[1]}")
def test_05_every_supported_python_converts(version: tuple[int, int], pure_packages: Path) -> None:
    program = "import autograph as ag, textwrap; f = ag.convert(textwrap.dedent); print(f('  a\\n  b'))"
    done = subprocess.run([FOUND[version], "-c", program], capture_output=True, text=True, timeout=60,
                          env=environment(pure_packages))
    assert (done.stdout, done.stderr) == ("a\nb\n", "")


def test_06_match_on_a_tensor() -> None:
    @rt.function
    def f(x, pair):
        match x:
            case 1 | 2:
                y = 10
            case n if n > 100:
                y = n
            case _:
                y = 0
        match pair:
            case (a, 0):
                return y + a
            case (a, b):
                return y + b

    pairs = [(1, 7, 0), (2, 7, 5), (500, 7, 0), (3, 7, 5)]
    tensors = [(rt.constant(x), (rt.constant(a), rt.constant(b))) for x, a, b in pairs]
    assert [int(f(x, pair)) for x, pair in tensors] == [17, 15, 507, 5]
    assert f.experimental_get_tracing_count() == 1


def test_07_lambdas_on_one_line() -> None:
    first, second = lambda x: x if x > 0 else -x, lambda x: x if x < 0 else -x
    assert (rt.function(first)(FIVE).numpy(), rt.function(second)(FIVE).numpy()) == (5, -5)


def test_08_retracing_is_explained_and_shapes_relax() -> None:
    @rt.function
    def total(x):
        return rt.reduce_sum(x)

    for n in range(1, 12):
        total(rt.ones([n]))
    assert total.experimental_get_tracing_count() < 6
    total(rt.ones([2], rt.float64))
    assert "float64" in str(total.explain())


def test_09_traces_are_freed() -> None:
    @rt.function
    def f(x, k):
        return x * k

    for k in range(5):
        f(FIVE, k)
    assert "5" in str(f.cache_info())
    f.cache_clear()
    graph = weakref.ref(f)
    del f
    gc.collect()
    assert graph() is None


def test_10_prints_happen_on_every_call() -> None:
    @rt.function
    def f(x):
        print("called with", x)
        return x

    assert [printed(f, FIVE), printed(f, FIVE)] == ["called with 5\n"] * 2


def test_11_only_a_read_of_an_unbound_variable_fails() -> None:
    @rt.function
    def f(x, read):
        if x > 0:
            y = x
        z = 0
        if read:
            z = y
        return z

    yes, no = rt.constant(True), rt.constant(False)
    assert f(-FIVE, no).numpy() == 0
    assert f(FIVE, yes).numpy() == 5
    with pytest.raises(UnboundLocalError):
        f(-FIVE, yes)


def test_12_none_in_one_branch() -> None:
    @rt.function
    def f(x):
        y = None
        if x > 0:
            y = x
        return 0 if y is None else y + 1

    assert (f(FIVE).numpy(), f(-FIVE).numpy()) == (6, 0)

    def plus_one(y):
        return 0 if y is None else y + 1

    @rt.function
    def g(x):
        y = None
        if x > 0:
            y = x
        return plus_one(y)

    assert (g(FIVE).numpy(), g(-FIVE).numpy()) == (6, 0)


def test_13_a_dtype_conflict_names_variable_types_and_lines() -> None:
    @rt.function
    def f(x):
        if x > 0:
            y = rt.constant(1)
        else:
            y = rt.constant(1.0)
        return y

    with pytest.raises(rt.errors.StagingError) as caught:
        f(FIVE)
    text = str(caught.value)
    assert all(part in text for part in ("'y'", "int32[]", "float32[]", __file__, "Make"))


def test_14_shapes_widen_in_a_loop() -> None:
    @rt.function
    def f(n):
        x = rt.zeros([1])
        for _ in range(n):
            x = rt.concat([x, x], axis=0)
        return x

    assert f(rt.constant(3)).shape == (8,)


def test_15_a_list_grows_and_a_leak_names_its_origin() -> None:
    leaked = []

    @rt.function
    def f(n):
        out = []
        for i in range(n):
            out.append(i * i)
        return out

    assert [int(v) for v in f(rt.constant(4))] == [0, 1, 4, 9]

    @rt.function
    def leaks(x):
        leaked.append(lambda: x + 1)
        return x

    leaks(FIVE)
    with pytest.raises(rt.errors.InaccessibleTensorError, match="belongs to graph 'leaks'"):
        leaked[0]()


def test_16_comprehensions_over_tensors() -> None:
    @rt.function
    def f(xs):
        return [x * x for x in xs if x > 1], sum(x for x in xs if x > 1)

    squares, total = f(rt.constant([3, 1, 2]))
    assert ([int(s) for s in squares], int(total)) == ([9, 4], 5)


def test_17_a_branch_not_taken_may_be_wrong() -> None:
    @rt.function
    def f(x):
        if x > 0:
            return x
        return {}["no such key"]

    assert f(FIVE).numpy() == 5
    with pytest.raises(KeyError, match="no such key"):
        f(-FIVE)


def test_18_raise_is_staged_with_its_line() -> None:
    @rt.function
    def f(x):
        if x < 0:
            raise ValueError("below zero")
        return x

    assert f(FIVE).numpy() == 5
    with pytest.raises(ValueError, match="below zero") as caught:
        f(-FIVE)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.line == 'raise ValueError("below zero")'


def test_19_handlers_see_what_the_graph_raises() -> None:
    done = rt.Variable(0)

    @rt.function
    def f(x, d):
        steps = 0
        try:
            steps = 1
            if x < 0:
                steps = 2
                raise ValueError("below zero")
            steps = x // d
        except ValueError:
            return -steps
        except ZeroDivisionError:
            return steps * 100
        finally:
            done.assign_add(1)
        return steps

    assert [int(f(rt.constant(x), rt.constant(d))) for x, d in ((6, 2), (-6, 2), (6, 0))] == [3, -2, 100]
    assert int(done) == 3

    @rt.function
    def g(x):
        return 10 // x

    try:
        g(rt.constant(0))
    except ZeroDivisionError as error:  # around the call
        assert "10 // x" in str(error)
    else:
        pytest.fail("no error")


def test_20_code_is_at_the_users_lines() -> None:
    code = ag.convert_traced(sign).__code__
    assert (code.co_filename, code.co_firstlineno) == (__file__, sign.__code__.co_firstlineno)


def stopped(items: Any) -> Any:
    total = 0
    for item in items:
        if item > 1 and total >= 0:
            total += item
    return total


def test_20_a_breakpoint_stops_and_shows_no_generated_code() -> None:
    line = stopped.__code__.co_firstlineno + 4
    commands = "continue\nwhere\np item, total\ncontinue\np item, total\nstep\nclear 1\ncontinue\n"
    output = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO(commands), stdout=output, nosigint=True, readrc=False, skip=["autograph.*"])
    debugger.use_rawinput = False
    debugger.set_break(__file__, line)
    assert debugger.runcall(ag.convert(stopped), [1, 2, 3]) == 5
    text = output.getvalue()
    assert text.count(f"> {__file__}({line})stopped()") >= 2
    assert "(Pdb) (2, 0)\n" in text and "(Pdb) (3, 2)\n" in text
    assert {place for place in re.findall(r"^(?:\(Pdb\) )?> (.*?)\(", text, re.M)} == {__file__}  # also after the step
    assert "ag__" not in text


def test_21_coverage_reports_no_converted_line_as_missed() -> None:
    converted = ag.convert(stopped)
    original, seen = (traced(lambda: fn([1, 2, 3]), {__file__}) for fn in (stopped, converted))
    found = [{line for event, name, line in events if name == "stopped" and event == "line"}
             for events in (original, seen)]
    assert found[0] == found[1] == set(range(stopped.__code__.co_firstlineno + 1, stopped.__code__.co_firstlineno + 6))


def test_22_a_traceback_shows_the_users_lines_alone() -> None:
    def fails(x):
        while x > 0:
            if x == 2:
                x = x["two"]
            x -= 1
        return x

    with pytest.raises(TypeError) as caught:
        ag.convert(fails)(3)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert {frame.filename for frame in frames} == {__file__}
    assert frames[-1].line == 'x = x["two"]'


def test_23_conversion_takes_milliseconds() -> None:
    text = "def f(x):\n" + "    if x > 0:\n        x = x - 1\n" * 30 + "    return x\n"
    many = defined(text, "<many ifs>")["f"]
    start = time.perf_counter()
    ag.convert(many)
    assert time.perf_counter() - start < 0.5


def test_24_annotations_are_never_evaluated_again() -> None:
    text = """
def f(x: note("argument")) -> note("result"):
    y: note("local") = x
    if y > 0:
        y = 1
    return y
"""
    evaluated = []

    def note(name):
        evaluated.append(name)
        return int

    f = defined(text, "<annotated>", note=note)["f"]
    converted = ag.convert(f)
    assert converted(5) == 1
    assert evaluated == ([] if ANNOTATES_LATER else ["argument", "result"])
    assert converted.__annotations__ == f.__annotations__


class Base:
    def scale(self, x):
        return x * 2


class Layer(Base):
    def __init__(self):
        self.__secret = 3

    @rt.function
    def scale(self, x):
        if x > 0:
            x = super().scale(x)
        return x + self.__secret


def test_25_super_and_private_names() -> None:
    assert Layer().scale(FIVE).numpy() == 13


def test_26_late_binding_and_locals_keep_their_meaning() -> None:
    def f(n):
        made = [lambda: i for i in range(n)]
        for j in range(n):
            made.append(lambda: j)
        return [g() for g in made]

    def names(a):
        b = 2
        return sorted(locals())

    assert ag.convert(f)(3) == f(3)
    assert ag.convert(names)(1) == ["a", "b"]


def test_27_partials_methods_and_constructors_convert() -> None:
    class Clipped:
        def __init__(self, x):
            if x > 3:
                x = x * 10
            self.x = x

        def __call__(self, y):
            if y > self.x:
                return y
            return self.x

    @rt.function
    def f(x):
        return Clipped(x)(x + 1), functools.partial(sign)(x)

    big, one = f(FIVE)
    assert (big.numpy(), one) == (50, 1) or (big.numpy(), one.numpy()) == (50, 1)


def test_28_recursion_on_a_tensor_runs_and_without_end_is_an_error() -> None:
    @rt.function
    def f(n):
        def down(k):
            if k > 0:
                return down(k - 1)
            return k

        return down(n)

    assert f(FIVE) == 0

    @rt.function
    def endless(n):
        def down(k):
            if k > 0:
                return down(k - 1)
            return down(k)

        return down(n)

    with pytest.raises(RecursionError, match="'down' calls itself too often"):
        endless(FIVE)


def test_29_comparisons_are_staged_lazily_and_each_operand_once() -> None:
    @rt.function
    def f(a, b):
        if 0 < b <= 2 and a // b > 1 and not a == 7:
            return 1
        return 0

    two, zero = rt.constant(2), rt.constant(0)
    assert [f(FIVE, two).numpy(), f(FIVE, zero).numpy(), f(rt.constant(7), two).numpy()] == [1, 0, 0]


def test_30_the_shown_text_is_short_and_runs() -> None:
    shown = ag.to_code(sign)
    namespace: dict[str, Any] = {"ag__": ag.operators, "Any": Any}
    exec(shown, namespace)
    assert (namespace["sign"](3), namespace["sign"](-3)) == (1, -1)
    assert shown.count("\n") == 12


