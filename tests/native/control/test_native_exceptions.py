"""`try` in native code: results, variables, what is printed and raised, as on the reference executor."""
from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

from runtime.backends.native.abi import interrupts
from runtime.backends.native.abi import thread_pool as pool
from tests.native.abi.test_native_errors import run


class Low(ValueError):
    pass


class High(ValueError):
    pass


def checked(x, low, high):
    if x < low:
        raise Low("low", x)
    if x > high:
        raise High(f"{x} is high")
    return x


# Each takes the state of test_native_errors and tensors.

def in_a_loop(s, xs, n):
    total, row = 0, s.row * 1.0
    for x in xs:
        try:
            s.count.assign_add(1)
            row = row + 1.0
            total += n // x
            row = row * 2.0
            s.row.assign(row)
        except ZeroDivisionError:
            total -= 1
        else:
            total += 100
        finally:
            s.total.assign_add(1.0)
    return total, row


def leaves_a_loop(s, xs, n):
    done = 0
    try:
        for x in xs:
            s.count.assign_add(10 // x)
            done += 1
        s.total.assign(1.0)
    except ZeroDivisionError as error:
        print(type(error).__name__, done)
        s.total.assign(2.0)
    return done


def of_two_kinds(s, xs, n):
    found = 0
    for x in xs:
        try:
            found += checked(x, 0, n)
        except Low as error:
            found += 1000 * error.args[1]
        except High as error:
            print("handled:", error)
            s.count.assign_add(1)
    return found


def passed_on(s, xs, n):
    for x in xs:
        try:
            s.count.assign_add(1)
            checked(x, 0, n)
            s.row.assign(s.row + rt.cast(x, rt.float32))
        except Low:
            s.count.assign_add(100)
        finally:
            s.total.assign_add(1.0)
    return n


def nested(s, xs, n):
    log = 0
    for x in xs:
        try:
            log = log * 2
            try:
                log += 100 // checked(x, -1, n)
            except ZeroDivisionError:
                log += 1
                checked(n, 3, 10)
            except High:
                log += 5
                raise
            finally:
                s.count.assign(log)
        except (High, Low) as error:
            print(type(error).__name__, log)
            log += 7
    return log


def another_error(s, xs, n):
    try:
        return 1 // xs[0]
    except ZeroDivisionError as error:
        s.count.assign(n)
        raise Low("instead") from error


def error_in_a_handler(s, xs, n):
    try:
        return 1 // xs[0]
    except ZeroDivisionError:
        s.count.assign(n)
        return xs[n]


def handlers_that_raise(s, xs, n):
    try:
        try:
            s.count.assign(n)
            return 1 // xs[0]
        except ZeroDivisionError:
            raise Low("inner", n)
    except Low:
        s.count.assign_add(1)
        raise High("outer")


def keeps_arrays(s, xs, n):
    """Of unknown size, that change their size, and that the loop writes in place."""
    kept = xs[:0]
    mine = xs * 1
    for i, x in enumerate(xs):
        try:
            mine[i] = -x
            kept = rt.concat([kept, [x]], 0)
            mine[n // x] = 100
            kept = rt.concat([kept, mine], 0)
        except (ZeroDivisionError, IndexError):
            kept = rt.concat([kept, mine[:2]], 0)
    return kept, mine


def keeps_lists(s, xs, n):
    found = []
    for x in xs:
        try:
            found.append(x)
            found.append(n // x)
            found.append(x + found.pop(0))
        except ZeroDivisionError:
            found.append(-1)
    return rt.stack(found)


def returns_and_breaks(s, xs, n):
    count = 0
    for x in xs:
        try:
            if x == n:
                return count
            count += 12 // x
        except ZeroDivisionError:
            s.count.assign_add(1)
            if count > 5:
                break
        finally:
            count += 1
    return -count


def always_raises(s, xs, n):
    try:
        s.count.assign(1)
        raise Low("for certain", xs[0])
    except Low as error:
        s.count.assign_add(error.args[1])
    return n


CASES: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (in_a_loop, [([3, 0, 2, 0], 6), ([], 1), ([0], 1), ([1, 2], 5)]),
    (leaves_a_loop, [([1, 2, 0, 3], 0), ([1, 5], 0)]),
    (of_two_kinds, [([1, -2, 9, 4, -1], 5), ([], 0)]),
    (passed_on, [([1, -2, 9, 4], 5), ([1, 2], 5), ([-1], 0)]),
    (nested, [([0, 1, 20], 5), ([0], 1), ([-5, 0, 99, 2], 20)]),
    (another_error, [([0, 1], 3), ([1, 1], 3)]),
    (error_in_a_handler, [([0, 8], 2), ([0, 8], 1), ([2, 8], 5)]),
    (handlers_that_raise, [([0], 4), ([1], 4)]),
    (keeps_arrays, [([1, 0, 2, 0, 5], 4), ([0, 0], 9), ([2, 1], 9)]),
    (keeps_lists, [([4, 0, 0, 5], 9), ([0], 1)]),
    (returns_and_breaks, [([3, 0, 7, 1], 7), ([2, 0, 1], 9), ([1], 1), ([5, 4], 0)]),
    (always_raises, [([4], 2)]),
]


@pytest.mark.parametrize("relaxed", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize(("fn", "calls"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_as_the_reference(fn: Callable[..., Any], calls: list[tuple[Any, ...]], relaxed: bool) -> None:
    for arguments in calls:
        assert run(fn, "native", arguments, relaxed) == run(fn, "numpy", arguments, relaxed)


def test_nothing_calls_python_where_no_text_is_wanted() -> None:
    @rt.function(executor="native")
    def ratio(a, b):
        try:
            return a // b
        except ZeroDivisionError:
            return -a

    assert "nothing calls Python" in ratio.explain_native(rt.constant(6), rt.constant(0))
    assert [int(ratio(rt.constant(6), rt.constant(k))) for k in (0, 3)] == [-6, 2]


def chain(error: BaseException | None) -> list[tuple[str, bool]]:
    """The classes of an exception and of those that it came from, and whether each is named as the cause."""
    found = []
    while error is not None:
        found.append((type(error).__name__, error.__cause__ is not None))
        error = error.__cause__ or error.__context__
    return found


@pytest.mark.parametrize("fn", [another_error, error_in_a_handler, handlers_that_raise], ids=lambda fn: fn.__name__)
def test_what_an_error_came_from(fn: Callable[..., Any]) -> None:
    chains = []
    for executor in ("numpy", "native"):
        function = rt.function(lambda xs, n: fn(States(), xs, n), executor=executor)
        with pytest.raises((ValueError, IndexError)) as caught:
            function(rt.constant([0]), rt.constant(77))
        chains.append(chain(caught.value))
        graph = function.get_concrete_function(rt.constant([0]), rt.constant(77)).graph
        assert not any(node.params["region"].runs for node in graph.walk() if node.op.name == "try_")
    assert chains[0] == chains[1]
    assert len(chains[0]) > 1


class States:
    def __init__(self) -> None:
        self.count = COUNT


COUNT = rt.Variable(0)


class Stop(Exception):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals as POSIX has them")
def test_what_a_signal_raises_is_caught() -> None:
    assert threading.current_thread() is threading.main_thread()
    steps = rt.Variable(0)

    @rt.function(executor="native")
    def spins(n):
        turns = n // n
        try:
            turns += 10 // n  # from here on there is a state for the handler
            while turns > 0:
                turns = (turns + 7) % 1000 + 1
                steps.assign_add(1)
        except Exception:
            turns = -n
        return turns

    def stop(*_: Any) -> None:
        raise Stop

    spins.get_concrete_function(rt.constant(3))
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        assert int(spins(rt.constant(3))) == -3
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert int(steps.read_value()) > 1000


@pytest.mark.parametrize("tried", [True, False])
def test_where_a_loop_of_threads_goes_when_a_signal_stops_it(tried: bool) -> None:
    """To the handlers; or out of the call, after variables were given back."""
    calls = rt.Variable(0)

    def long(x, n):
        calls.assign_add(10 // n)
        return rt.reduce_sum(rt.sin(x) + rt.exp(-x * x))

    def safe(x, n):
        try:
            total = long(x, n)
        except Exception:
            total = -1.0
        return total

    function = rt.function(safe if tried else long, executor="native")
    text = function.get_concrete_function(rt.ones([10_000_000]), rt.constant(10)).inspect_llvm(optimized=False)
    found = re.search(rf"call i32 @{pool.RUN}\(.*?\n(\w+):\n(.*?)\n\w+:\n", text, re.DOTALL)
    assert found is not None
    block = found[2]  # what runs if it was stopped
    while leave := re.search(r"  br label %(leave\w+)$", block):  # shared by all that leave with these variables
        block += "\n" + text.split(f"\n{leave[1]}:\n")[1].split(":\n")[0].rsplit("\n", 1)[0]
    assert block.splitlines()[-1].startswith("  br label %caught" if tried else "  ret i32 4")
    asked = re.findall(r"call \w+ @(\w+)\(", block)
    assert asked == [interrupts.INSIST, interrupts.RAISE][:1 + tried]  # Python gets the variable, and raises
