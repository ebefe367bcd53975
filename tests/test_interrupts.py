"""An exception of a signal's handler, such as KeyboardInterrupt, reaches who called, and leaves nothing behind."""
from __future__ import annotations

import gc
import os
import pty
import random
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from interrupts import interrupted, left_over

import runtime as rt
from autograph.core.backend import ambient
from autograph.core.code_cache import until_gone
from autograph.core.deep_stack import lower_limit, raise_limit, users_limit, with_limit
from autograph.core.trace_cleanup import restored
from runtime.backends.native.abi import interruptible
from runtime.backends.native.jit.compile import Code
from runtime.core.trace import tracing

llvmlite = pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")
ROOT = Path(__file__).parents[1]
PATIENT = 2.0
"""Seconds, on a machine that is busy with other things; `python -m tests.interrupts` says what it takes."""


class Stop(Exception):
    """What a handler raises."""


@pytest.mark.parametrize("name", ["comprehension", "classes", "many loops"])
def test_first_calls_are_left_at_random_moments(name: str) -> None:
    """All programs, 200 times: `python -m tests.interrupts`."""
    found = list(interrupted(name, 4, random.Random(name)))
    assert len(found) == 4
    for outcome in found:
        assert not outcome.wrong, outcome
        assert outcome.delay is not None, outcome
        assert outcome.delay < PATIENT, outcome


LOSES = (r"gc\.callbacks\.|weakref\.finalize\(|import .*finalize|WeakKeyDictionary[\[(]|WeakValueDictionary[\[(]|"
         r"WeakSet[\[(]|def __del__")


def test_python_code_that_loses_exceptions_is_not_used() -> None:
    """No finalizers, no callbacks of the collector, no weak references with a callback in Python."""
    lost = []
    for package in ("autograph", "runtime"):
        for path in (ROOT / package).rglob("*.py"):
            for word in re.findall(LOSES, path.read_text()):
                lost.append((path.name, word))
    assert not lost
    assert re.findall(LOSES, "weakref.finalize(x, f)  WeakSet()  def __del__(self)  gc.callbacks.append(f)")


def test_entries_go_with_what_they_are_for() -> None:
    table: dict[str, object] = {}
    for key in "ab":
        held = Stop(key)
        table[key] = until_gone(held, table, key)
        assert [*table] == [key]
    del held
    gc.collect()
    assert not table


def test_traces_for_objects_that_are_gone_are_not_found() -> None:
    class Box:
        def __init__(self, value: int) -> None:
            self.value = value

        def __getattr__(self, name: str) -> Any:  # so that no two objects of the class share a trace
            raise AttributeError(name)

    @rt.function(executor="numpy")
    def read(box, x):
        return box.value + x

    for k in range(6):  # several get the id of one before
        assert int(read(Box(k), rt.constant(1))) == k + 1
        gc.collect()
        assert len(read.concrete_functions) == 0


def interrupting(moment: int, work: Callable[[], object]) -> bool:
    """Whether `work` was left at that moment: a handler raises at the so-many-th place where Python handles signals."""
    places = 0

    def profile(frame, event, arg):
        nonlocal places
        if frame.f_code.co_filename != __file__ and event in ("call", "c_return"):
            places += 1
            if places == moment:
                raise Stop

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    except Stop:
        return True
    finally:
        sys.setprofile(before)
    assert places < moment, "it was lost"
    return False


def test_a_trace_that_is_left_anywhere_is_put_back() -> None:
    """Also at the beginning and within the end of what puts it back."""
    def work() -> None:
        graph = rt.Graph("f")
        with tracing(graph):
            lower_limit(raise_limit(100))

    moment, limit = 1, sys.getrecursionlimit()
    while interrupting(moment, lambda: restored(work)):
        assert not [*left_over()], moment
        assert ambient.backend is None
        assert (sys.getrecursionlimit(), users_limit()) == (limit, limit), moment
        moment += 1
    assert moment > 60


def test_a_limit_that_is_left_anywhere_is_put_back() -> None:
    moment, limit = 1, sys.getrecursionlimit()
    while interrupting(moment, lambda: with_limit(100, sys.getrecursionlimit)):
        assert (sys.getrecursionlimit(), users_limit()) == (limit, limit), moment
        moment += 1
    assert moment > 20
    assert with_limit(100, sys.getrecursionlimit) == limit + 100


def test_a_call_that_is_left_anywhere_in_what_native_code_asks_of_python(capfd: pytest.CaptureFixture[str]) -> None:
    """From the first instruction of Python on; what has to come to its end does; the next call is as ever."""
    total = rt.Variable(0)

    @rt.function(executor="native")
    def doubled(n):
        return n + rt.py_function(lambda x: x, [n], rt.int32)

    @rt.function(executor="native")
    def f(n):
        total.assign(0)
        for i in range(n):
            try:
                total.assign_add(12 // (i % 3))
                total.assign_add(rt.py_function(doubled, [i], rt.int32))
            except ZeroDivisionError:
                total.assign_add(1000)
        return total.read_value()

    n = rt.constant(4)
    assert int(f(n)) == 2000 + 12 + 6 + 2 + 4
    doors = 0

    def count(frame, event, arg):
        nonlocal doors
        doors += event == "call" and frame.f_code.co_name == "ask"

    sys.setprofile(count)
    f(n)
    sys.setprofile(None)
    assert doors > 15
    moment = 1
    while interrupting(moment, lambda: f(n)):
        moment += 1
        assert int(f(n)) == 2024, moment
    assert moment > 5 * doors
    assert capfd.readouterr().err == ""


def test_objects_of_llvm_are_never_freed_on_the_main_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor when a compilation is left after it: exceptions of a handler are lost in their finalizers."""
    f = rt.function(lambda x: x + 1, executor="native").get_concrete_function(rt.TensorSpec((), rt.int32))
    f(rt.constant(1))
    threads: list[int] = []
    free = llvmlite.binding.ffi.ObjectRef.__del__
    monkeypatch.setattr(llvmlite.binding.ffi.ObjectRef, "__del__",
                        lambda self: (threads.append(threading.get_ident()), free(self)))
    moment, text = 1, f._executable.code.text
    while interrupting(moment, lambda: Code(text, lambda address: ())):
        gc.collect()
        moment += 1
    interruptible.run_off_main_thread(bool)
    assert moment > 10
    assert threads and threading.get_ident() not in threads


def test_a_wait_for_a_compilation_is_left_at_once() -> None:
    started, ended = threading.Event(), threading.Event()
    steps: list[str] = []

    def slow() -> None:
        started.set()
        while not ended.wait(0.01):  # as in LLVM: it sees no signals
            pass
        steps.append("before")
        interruptible.step()
        steps.append("after")

    def stop(*_: object) -> None:
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        start = time.perf_counter()
        with pytest.raises(Stop):
            interruptible.run_off_main_thread(slow)
        assert started.is_set() and time.perf_counter() - start < PATIENT
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        ended.set()
    assert interruptible.run_off_main_thread(lambda: 3) == 3  # after the other has left
    assert steps == ["before"]
    with pytest.raises(ValueError, match="no such"):
        interruptible.run_off_main_thread(lambda: int("no such"))
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(interruptible.run_off_main_thread(threading.get_ident)))
    thread.start()
    thread.join()
    assert found == [thread.ident]


def test_what_work_held_is_freed_on_its_own_thread() -> None:
    """Also if it fails or is left: the main thread's collector would lose the exception of a handler in a finalizer."""
    freed: list[int] = []

    class Held:
        def __del__(self) -> None:
            freed.append(threading.get_ident())

    def fails(depth: int) -> None:
        held = Held()
        if depth:
            try:
                fails(depth - 1)
            except ValueError as error:
                raise KeyError(depth) from error
        raise ValueError

    for depth in (0, 3):
        freed.clear()
        with pytest.raises((ValueError, KeyError)):
            interruptible.run_off_main_thread(lambda: fails(depth))
        gc.collect()
        assert len(freed) == depth + 1 and threading.get_ident() not in freed


def test_what_an_object_owned_is_closed_with_the_next_work() -> None:
    closed: list[int] = []

    class Owned:
        def close(self) -> None:
            closed.append(threading.get_ident())

    owner = Stop()
    reference = weakref.ref(owner)
    interruptible.close_after(owner, Owned())
    interruptible.run_off_main_thread(bool)
    assert not closed
    del owner
    assert reference() is None
    interruptible.run_off_main_thread(bool)
    assert closed and closed[0] != threading.get_ident()


ENDLESS = """
import asyncio, os, sys, threading
import runtime as rt

@rt.function(executor="native")
def f(n):
    while n > 0:
        n = n * 3 % 7 + 1
    return n

f(rt.constant(0))
def call():
    print("begun", flush=True)
    return f(rt.constant(1))

async def coroutine():
    call()

try:
    {call}
except KeyboardInterrupt:
    print("left", int(f(rt.constant(0))), flush=True)
    os._exit(7)  # a thread may still run
"""
CALLS = {
    "call": "call()",
    "another thread": "t = threading.Thread(target=call); t.start(); t.join()",
    "a loop of events": "asyncio.new_event_loop().run_until_complete(coroutine())",  # as in Jupyter
}


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_in_a_terminal(call: str, tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS.format(call=CALLS[call]))
    terminal, own = pty.openpty()
    process = subprocess.Popen([sys.executable, tmp_path / "endless.py"], stdin=own, stdout=own, stderr=own,
                               start_new_session=True, preexec_fn=lambda: take(own),
                               env={**os.environ, "PYTHONPATH": str(ROOT)})
    os.close(own)
    try:
        said = ""
        while "begun" not in said:
            said += os.read(terminal, 1000).decode()
        time.sleep(0.3)
        start = time.perf_counter()
        os.write(terminal, b"\x03")
        while "left 0" not in said:
            said += os.read(terminal, 1000).decode()
        assert time.perf_counter() - start < PATIENT
        assert process.wait(30) == 7
        assert "ignored" not in said
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def take(terminal: int) -> None:
    """Let it be the terminal of this session."""
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


@pytest.mark.optimised
def test_a_process_that_was_left_while_it_compiles_forks_and_ends(tmp_path: Path) -> None:
    text = """
import os, signal, sys
import runtime as rt
from runtime.backends.native.jit import compile as native

original = native.optimized
def stopped(text, machine):
    os.kill(os.getpid(), signal.SIGINT)
    return original(text, machine)

@rt.function(executor="native")
def f(n):
    while n > 0:
        n -= 2
    return n

native.optimized = stopped
try:
    f(rt.constant(5))
except KeyboardInterrupt:
    native.optimized = original
    child = os.fork()
    got = int(f(rt.constant(5)))
    if not child:
        sys.exit(got + 11)
    print(got, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    (tmp_path / "forks.py").write_text(text)
    done = subprocess.run([sys.executable, tmp_path / "forks.py"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "-1 10\n", "")
