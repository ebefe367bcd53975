"""Functions and methods of text that only the graph knows: as in Python, on both executors."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# ruff: noqa: UP031
from __future__ import annotations

import functools
from typing import Any

import pytest
from traced_once import on
from ways import HAS_LLVM

import runtime as rt
from runtime.errors import StagingError
from tests.plain_values import plain

EXECUTORS = ["numpy", *(["native"] if HAS_LLVM else [])]


def digit_sum(n):
    return sum(int(digit) for digit in str(n)), sum(map(int, str(n))), [int(digit) for digit in str(n)]


def palindromes(n):
    found = 0
    for i in range(n):
        if str(i) == str(i)[::-1]:
            found += 1
    return found


def powers_of_digits(n):
    found = []
    for i in range(n):
        text = str(i)
        if sum(int(digit) ** len(text) for digit in text) == i:
            found.append(i)
    return found


def binary(n):
    value = 0
    for bit in bin(n)[2:]:
        value = value * 2 + int(bit)
    return value, bin(n), oct(n), hex(n), bin(-n), f"{n:b}".count("1"), int(bin(n), 2)


def lists_of_characters(n):
    text = f"{n},{n + 1}"
    return list(text), tuple(text), sorted(text), "".join(reversed(text)), "-".join(text), max(text), set(text)


def looped_over(n):
    total, found = 0, []
    for i, c in enumerate(f"{n}x{n}"):
        if c.isdigit():
            total += i * int(c)
        else:
            found.append(c)
    return total, found


def methods(n):
    text = f" a{n}b{n} "
    return (text.upper(), text.strip(), text.title(), text.swapcase(), text.find("b"), text.rfind("a"), text.count("1"),
            text.startswith(" a"), text.endswith(("x", f"{n} ")), text.replace("a", "bb"), text.isspace(),
            text.zfill(20), text.center(30, "*"), text.ljust(n % 20), text.removeprefix(" a"), text.expandtabs())


def texts_of_text(n):
    text = f"{n}, {n + 1};{n}"
    return (text.split(","), text.split(), text.split(sep=f"{n}"), text.rsplit(", ", maxsplit=1), text.partition(";"),
            text.rpartition("?"), f"{n}\n\n{n}".splitlines(), text.split(";")[0].split(", "), len(text.split(";")))


def parts_of_known_text(n):
    part = f"{n % 10}"
    word = "3abc3"
    return (word.startswith(part), word.find(part), word.count(part), word.partition(part), word.split(part),
            word.replace(part, "_"), part in word, "3" in part, part not in word, f"{n}" in f"a{n}b",
            "abc".rjust(n % 7), "x".join([part, part]), word.strip(part), "a,b".split(",")[0] in f"a{n}")


def numbers(n):
    return int(f"{n}") + 1, int(f"-{n}"), int(f"{n}", 16), int(f" {n}_0 "), float(f"{n}.5"), float(f"1e{n % 9}")


def of_classes(n):
    return str.upper(f"a{n}"), str.find("abc3", f"{n % 10}"), functools.partial("abc3".find, f"{n % 10}")(), list(
        map(str.upper, [f"a{n}"])), sorted(["b", f"A{n}"], key=str.lower), getattr("abc3", "count")(f"{n % 10}")


def formats(n):
    text = f"{n}"
    return f"{text:>8}|{text:<8}|{text:^8}|{text!r:*^8}", "%8s|%-8s|%.1s" % (text, text, text), repr(f"{n}'")


def percent(n):
    x = n / 7
    return ("%d" % n, "%5d|%-5d|%05d|%+d|% d" % (n, n, n, n, n), "%x %X %o %#x" % (n, n, n, n), "%i%%" % n,
            "%.2f|%8.3f|%-8.1f|%e|%g|%+.1e" % (x, x, x, x, x, x), "%d" % x, "%*d|%-*d" % (6, n, 6, n),
            "%(a)d %(b).1f" % {"a": n, "b": x}, "%s of %d" % ("a", n), "%c%3c|" % (n + 60, n + 60))


PROGRAMS = [digit_sum, palindromes, powers_of_digits, binary, lists_of_characters, looped_over, methods, texts_of_text,
            parts_of_known_text, numbers, of_classes, formats, percent]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("n", [3, 160])
@pytest.mark.parametrize("fn", PROGRAMS)
def test_programs(fn: Any, n: int, executor: str) -> None:
    def of_number(n):
        return fn(int(n))  # the text of a tensor is another one

    assert plain(on(executor, fn_of(fn))(rt.constant(n))) == of_number(n)


@functools.cache
def fn_of(fn):
    return lambda n: fn(int(n))


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn", [
    lambda n: int(f"{n}z"), lambda n: float(f"{n}z"), lambda n: f"{n}".index("7"), lambda n: f"{n}".rindex("7"),
    lambda n: "a".split(f"{n}"[:0]), lambda n: f"{n}".rjust(5, f"{n}{n}"), lambda n: int(f"{n}", 40),
    lambda n: f"{n}".partition(f"{n}"[1:])])
def test_errors_for_some_text_are_raised_when_the_graph_runs(fn: Any, executor: str) -> None:
    def handled(n):
        try:
            return fn(n)
        except (ValueError, TypeError) as error:
            return f"caught {error}"

    traced = on(executor, fn)
    with pytest.raises(Exception) as expected:
        fn(3)
    with pytest.raises(type(expected.value)) as raised:
        traced(rt.constant(3))
    assert str(raised.value).splitlines()[0].endswith(str(expected.value))
    assert raised.traceback[-1].path.name == "test_text_functions.py"


@pytest.mark.parametrize("fn", [
    lambda n: f"{n}".rjust(), lambda n: f"{n}".split(3), lambda n: f"{n}".startswith(3), lambda n: f"{n}".zfill("a"),
    lambda n: f"{n}".split(size=3), lambda n: f"{f'{n}':d}"])
def test_wrong_arguments_are_errors_where_they_are(fn: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as expected:
        fn(3)
    with pytest.raises(type(expected.value)) as raised:
        rt.function(fn)(rt.constant(3))
    message, where = str(expected.value), str(raised.value).splitlines()[0]
    assert where.startswith(f"{__file__}:") and message.split("(")[-1][:20] in where


def test_ints_of_few_digits_do_not_call_python() -> None:
    pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

    def parsed(n):
        total = 0
        for i in range(n):
            total += int(str(i)) + int(f"-{i}0") + sum(int(digit) for digit in str(i))
        return total

    fn = rt.function(parsed, executor="native")
    assert fn(rt.constant(120)) == parsed(120)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("runtime.ops.text_functions.FUNCTIONS", {})
        assert fn(rt.constant(120)) == parsed(120)


@pytest.mark.parametrize("text", [
    " 7", "+7", "1_0", "-", "", "\u0663", "007", "-0", "9" * 18, "9" * 19, "1" + "0" * 18])
def test_ints_of_other_text(text: str) -> None:
    def f(n):
        return int(f"{n}{text}"[1:])

    try:
        want = f(1)
    except ValueError as error:
        with pytest.raises(ValueError, match="invalid literal for int") as raised:
            rt.function(f)(rt.constant(1))
        assert str(error) in str(raised.value)
    else:
        if abs(want) < 1 << 63:
            assert rt.function(f)(rt.constant(1)) == want
        else:
            with pytest.raises(OverflowError, match="does not fit into the 64 bits"):
                rt.function(f)(rt.constant(1))


def test_an_int_that_does_not_fit() -> None:
    with pytest.raises(OverflowError, match="100000000000000000000 does not fit into the 64 bits of Python's ints"):
        rt.function(lambda n: int(f"{n}00000000000000000000"))(rt.constant(1))


def test_what_is_neither_number_nor_text() -> None:
    with pytest.raises(StagingError, match=r"zfill\(\) gets a .* here, with text that only the graph knows"):
        rt.function(lambda n: f"{n}".zfill(n * 0.5))(rt.constant(1))
