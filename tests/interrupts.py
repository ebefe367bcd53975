"""Whether Ctrl-C reaches who calls a traced function for the first time.

`python -m tests.interrupts 200 --seed 1` sends so many interrupts at random moments of first calls of the programs of
`tests.interrupted`.

A first call loads, converts, traces, optimises, compiles and runs. After each interrupt nothing may be left of it: the
next call gives the right result, in this and in another thread. Prints how many were lost, and the delays in ms from
the signal to the KeyboardInterrupt.
"""
from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import IO, Any, NamedTuple

__all__ = ["Outcome", "interrupted", "main", "names"]

ROOT = Path(__file__).parents[1]
SOURCE = Path(__file__).with_name("interrupted.py")
IN_A_PROCESS = 4
"""Interrupts in one process: the first one meets modules that are not loaded yet."""
COLD = 0.9
"""Seconds within which the first call of a process is interrupted."""
PATIENCE = 8.0
"""Seconds after which an interrupt is taken for lost."""


class Outcome(NamedTuple):
    """One interrupt: when it was sent, in seconds after the call began, and what became of it."""

    name: str
    moment: float
    delay: float | None  # seconds until the exception, None: it was lost
    late: bool  # whether the call had ended before
    wrong: str  # what is not as it should be afterwards; empty: nothing


def fresh() -> ModuleType:
    """The programs, none of them converted yet."""
    module = ModuleType("interrupted")
    module.__file__ = str(SOURCE)
    sys.modules["interrupted"] = module
    exec(compile(SOURCE.read_text(), str(SOURCE), "exec"), module.__dict__)
    return module


def names() -> list[str]:
    return list(fresh().PROGRAMS)


# --- The process that is interrupted ---


def attributes(module: ModuleType) -> list[tuple[str, dict[str, Any]]]:
    return [(name, dict(vars(value))) for name, value in vars(module).items()
            if isinstance(value, type) and value.__module__ == "interrupted"]


def left_over() -> Iterator[str]:
    """What a trace that was left should have put back."""
    from autograph.core.backend import ambient
    from autograph.dispatch.converted_call import at_work
    from runtime.core.trace import current_graph, open_traces, watchers
    from runtime.function.variables.variable import creation

    if current_graph() is not None or ambient.backend is not None or open_traces:
        yield "a trace is open"
    if watchers():
        yield "a trace is watched"
    if creation.current is not None:
        yield "variables are made for a trace"
    if at_work.depth:
        yield "nothing is converted"
    if not gc.isenabled():
        yield "garbage is not collected"


def one(measured: bool) -> dict[str, Any]:
    """The first call of a program, and what comes after it. `measured`: it is not interrupted, but measured."""
    import runtime as rt

    module = fresh()
    fn, arguments, result = module.PROGRAMS[sys.argv[2]]
    first, second = arguments()
    want = fn(int(second[0].numpy())) if result is None else result
    function = rt.function(fn, executor="native")
    before, limit, threshold = attributes(module), sys.getrecursionlimit(), gc.get_threshold()
    if measured:
        start = time.perf_counter()
        function(*second)
        return {"seconds": time.perf_counter() - start}
    ended, late = None, False
    try:
        say({"begun": True})
        function(*first)
        late = True
        time.sleep(PATIENCE / 2)
    except KeyboardInterrupt:
        ended = time.perf_counter()
    wrong = [*left_over()]
    if sys.getrecursionlimit() != limit:
        wrong.append("another recursion limit")
    if gc.get_threshold() != threshold:
        wrong.append("another threshold of garbage collection")
    if attributes(module) != before:
        wrong.append("a class was changed")
    got: list[Any] = []
    with contextlib.suppress(KeyboardInterrupt):
        got.append(function(*second).numpy())
        thread = threading.Thread(target=lambda: got.append(function(*second).numpy()), daemon=True)
        thread.start()
        thread.join()
    if got != [want, want]:
        wrong.append(f"{got} in place of twice {want}")
    return {"ended": ended, "late": late, "wrong": "; ".join(wrong)}


def say(what: dict[str, Any]) -> None:
    os.write(3, json.dumps(what).encode() + b"\n")


def child() -> None:
    import runtime  # noqa: F401

    faulthandler.register(signal.SIGUSR1)
    for command in sys.stdin:
        say(one(command.strip() == "measure"))


# --- The process that interrupts it ---


class Child:
    def __init__(self, name: str) -> None:
        self.name = name
        self.errors: IO[bytes] = tempfile.TemporaryFile()
        reading, writing = os.pipe()

        def takes_pipe() -> None:
            os.dup2(writing, 3)

        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.interrupts", "--child", name], cwd=ROOT, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=self.errors, close_fds=False, preexec_fn=takes_pipe,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
        os.close(writing)
        self.answers = os.fdopen(reading)

    def ask(self, what: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(what.encode() + b"\n")
        self.process.stdin.flush()

    def heard(self) -> dict[str, Any]:
        line = self.answers.readline()
        if not line:
            raise RuntimeError(f"{self.name}: the process ended, status {self.process.wait()}\n{self.said()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def said(self) -> str:
        self.errors.seek(0)
        return self.errors.read().decode()

    def interrupt(self, moment: float) -> Outcome:
        said = len(self.said())
        self.ask("interrupt")
        self.heard()
        time.sleep(moment)
        sent = time.perf_counter()
        self.process.send_signal(signal.SIGINT)
        rescue = threading.Timer(PATIENCE, self.give_up)
        rescue.start()
        try:
            answer = self.heard()
        finally:
            rescue.cancel()
        delay = None if answer["ended"] is None else answer["ended"] - sent
        wrong = answer["wrong"]
        errors = self.said()[said:]
        if errors:
            wrong = f"{wrong}\n{errors}"
        return Outcome(self.name, moment, None if delay is None or delay > PATIENCE else delay, answer["late"], wrong)

    def give_up(self) -> None:
        self.process.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        self.process.send_signal(signal.SIGINT)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            status = self.process.wait(30)
        finally:
            self.process.kill()
            self.answers.close()
        if status:
            raise RuntimeError(f"{self.name}: status {status}\n{self.said()}")


def interrupted(name: str, times: int, chance: random.Random) -> Iterator[Outcome]:
    """What became of some interrupts of one program, in one process."""
    child = Child(name)
    yield child.interrupt(chance.uniform(0, COLD))
    if times > 1:
        child.ask("measure")
        seconds = child.heard()["seconds"]
        for _ in range(times - 1):
            yield child.interrupt(chance.uniform(0, 1.1 * seconds))
    child.close()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.interrupts", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--program", choices=names(), help="only this one")
    options = parser.parse_args(arguments)
    chance = random.Random(options.seed)
    programs = [options.program] if options.program else names()
    if not options.program:
        chance.shuffle(programs)
    found: list[Outcome] = []
    k = 0
    while len(found) < options.count:
        name = programs[k % len(programs)]
        k += 1
        for outcome in interrupted(name, min(IN_A_PROCESS, options.count - len(found)), chance):
            found.append(outcome)
            if outcome.wrong or outcome.delay is None:
                lost = "lost" if outcome.delay is None else f"{1e3 * outcome.delay:.0f} ms"
                print(f"{name}, {1e3 * outcome.moment:.0f} ms: {lost}; {outcome.wrong}", flush=True)
            elif outcome.delay > 0.1:
                print(f"{name}, {1e3 * outcome.moment:.0f} ms: {1e3 * outcome.delay:.0f} ms", flush=True)
    delays = sorted(1e3 * outcome.delay for outcome in found if outcome.delay is not None)
    lost = len(found) - len(delays)
    wrong = sum(bool(outcome.wrong) for outcome in found)
    print(f"{len(found)} interrupts, {sum(outcome.late for outcome in found)} of them after the call; lost: {lost}; "
          f"wrong afterwards: {wrong}; delay in ms: median {statistics.median(delays):.1f}, "
          f"99 % {delays[int(0.99 * (len(delays) - 1))]:.1f}, longest {delays[-1]:.1f}")
    return int(bool(lost or wrong))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child()
    else:
        sys.exit(main(sys.argv[1:]))
