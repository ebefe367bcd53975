"""Programs whose sizes, indices and axes are hostile: `python -m tests.fuzz --sizes 10000 --seed 1`.

A program is compiled once, with its sizes as inputs, and called with many values: in eager mode, on the reference
executor, and natively in memory between guard pages (`guard`). All three give one result or one class of error, and
errors of graphs name the user's line. Programs run in a process of their own, which may crash.

Tolerated: memory may be missing in one way only, as native code fuses loops and NumPy has views; an index of a Python
list that is no machine word is Python's OverflowError, and an IndexError in graphs.
"""
from __future__ import annotations

import collections
import itertools
import json
import linecache
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.size_programs import PER_PROGRAM, Program, arguments, is_large, program, standalone

__all__ = ["Failure", "Summary", "campaign", "report", "run_one"]

WAYS: Final = ("eager", "numpy", "native")
_SECONDS: Final = 0.25  # of the processor, for a call
_HANG: Final = 8.0  # for a call that no signal stops
_CRASHES: Final = 2  # of a program; then the next one
MEMORY: Final = "OutOfMemoryError"
_REFUSED: Final = frozenset({
    "StagingError", "UnimplementedError", "OperatorNotAllowedInGraphError", "NumberOverflowError"})


class Slow(BaseException):
    """A call took too long."""


@dataclass
class Summary:
    """How many cases agreed, and how."""

    cases: int = 0
    programs: int = 0
    results: int = 0
    tolerated: int = 0
    errors: collections.Counter[str] = field(default_factory=collections.Counter)
    refused: collections.Counter[str] = field(default_factory=collections.Counter)
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True)
class Failure:
    """A case that differs or ends the process. `kind`: what to group by."""

    case: int
    seed: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"--- --seed {self.seed} --only {self.case}: {self.kind}\n{self.text}"


# In the process that runs the cases.

def label(error: BaseException) -> str:
    name = type(error).__name__
    return MEMORY if isinstance(error, MemoryError) and not _strict() else name


def _strict() -> bool:
    import runtime as rt
    return hasattr(rt.errors, MEMORY)


def load(text: str, name: str) -> Any:
    import runtime as rt
    lines = text.splitlines(keepends=True)
    linecache.cache[name] = len(text), None, lines, name
    module = types.ModuleType("hostile")
    exec(compile(text, name, "exec"), module.__dict__)
    assert rt
    return module.__dict__["program"]


def outcome(call: Callable[[], Any], seconds: float = _SECONDS) -> tuple[str, Any]:
    """("", arrays) or the class of the error, and the error."""
    import numpy as np

    import runtime as rt
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        result = rt.nest.flatten(call())
        found: tuple[str, Any] = "", [np.asarray(x.numpy() if hasattr(x, "numpy") else x) for x in result]
    except Slow:
        found = "Slow", None
    except Exception as error:
        found = label(error), error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return found


def same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    import numpy as np
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        of_python = not y.ndim and y.dtype in (np.float64, np.int64) and x.dtype.kind == y.dtype.kind
        if (x.dtype != y.dtype and not of_python) or x.shape != y.shape:
            return False
        with np.errstate(all="ignore"):
            if x.dtype.kind in "fc":
                if not np.allclose(x, y, rtol=1e-3 if x.dtype.itemsize == 2 else 2e-5, atol=1e-5, equal_nan=True):
                    return False
            elif not np.array_equal(x, y):
                return False
    return True


def told(kind: str, value: Any) -> str:
    import numpy as np
    if not kind:
        return ", ".join(f"{x.dtype}{list(x.shape)} {np.array2string(x, threshold=6, edgeitems=3)}" for x in value
                         ).replace("\n", " ")[:200]
    return f"{kind}: {' '.join(str(value).split())[:260]}"


def verdict(outcomes: dict[str, tuple[str, Any]], name: str, large: bool) -> tuple[str, str]:
    """("result" or "error ..." or "tolerated", "") if they agree, else what to group the difference by. `large`: there
    are sizes for which memory or time may be missing."""
    kinds = [kind for kind, _ in outcomes.values()]
    base = type(outcomes["eager"][1])  # of Python itself, such as of a list: graphs raise one of a derived class
    if base.__module__ == "builtins" and issubclass(base, Exception) and all(
            isinstance(outcomes[way][1], base) for way in WAYS):
        kinds[0] = kinds[1]
    if base is OverflowError and all(isinstance(outcomes[way][1], IndexError) for way in WAYS[1:]):
        kinds[0] = kinds[1]  # Python's lists say so of an index that is no machine word
    if len(set(kinds)) > 1:
        if large and (MEMORY in kinds or "Slow" in kinds):
            return "tolerated", ""
        return "", " / ".join(f"{way} {kind or 'result'}" for way, (kind, _) in outcomes.items())
    if kinds[0]:
        for way in ("numpy", "native"):
            error = outcomes[way][1]
            if kinds[0] != "Slow" and not _names_line(error, name):
                return "", f"{way} {kinds[0]} without file and line"
        return ("tolerated" if kinds[0] == "Slow" else f"error {kinds[0]}"), ""
    first = outcomes["eager"][1]
    differing = [way for way in ("numpy", "native") if not same(outcomes[way][1], first)]
    return ("result", "") if not differing else ("", f"results differ: {' and '.join(differing)} from eager")


def _names_line(error: BaseException, name: str) -> bool:
    if f"{name}:" in str(error):
        return True
    entry = error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code.co_filename == name:
            return True
        entry = entry.tb_next
    return False


class Traced:
    """A program, and its graphs, traced when they are first wanted."""

    def __init__(self, made: Program, name: str) -> None:
        import autograph
        import runtime as rt
        self.name = name
        self.function = load(made.text, name)
        # items of tensors are set in converted code only
        self.converted = autograph.convert_traced(self.function) if "] = " in made.text else self.function
        specs = [rt.TensorSpec(a.shape, a.dtype) for a in made.arguments]
        self.concrete: dict[str, Any] = {}
        self.refusal: BaseException | None = None
        for way in WAYS[1:]:
            signal.setitimer(signal.ITIMER_PROF, 60)
            try:
                function = rt.function(self.function, executor=way)
                self.concrete[way] = function.get_concrete_function(*specs)
                self.concrete[way].compile()  # not in the time of a call
            except (Exception, Slow) as error:
                self.refusal = error
                break
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)

    def call(self, way: str, values: Sequence[Any]) -> tuple[str, Any]:
        import runtime as rt
        tensors = [rt.constant(v) for v in values]
        if way != "eager" and self.refusal is not None:
            return label(self.refusal), self.refusal
        target = self.converted if way == "eager" else self.concrete[way]
        return outcome(lambda: target(*tensors))


def child(seed: int, start: int, end: int, step: int, place: str, at_start: bool, guarded: bool) -> None:
    """Run cases; tell of each program in a line of JSON, and of the case at hand in the file `place`."""
    import guard
    if guarded:
        guard.install(at_start)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, _stop)
    at = os.open(place, os.O_WRONLY)
    made: Program | None = None
    traced: Traced | None = None
    refused = False
    counts: collections.Counter[str] = collections.Counter()
    current = -1
    for case in range(start, end, step):
        number, turn = divmod(case, PER_PROGRAM)
        if number != current:
            current = number
            if made is not None:
                print(json.dumps({"counts": counts}), flush=True)
                counts.clear()
            os.pwrite(at, struct.pack("qq", case, -1), 0)
            made = program(seed, number)
            name = f"<hostile {seed} {number}>"
            traced = Traced(made, name)
            refused = traced.refusal is not None
        assert traced is not None
        if refused and turn >= 8:
            counts["skipped"] += 1
            continue
        values = arguments(seed, case, made)
        outcomes = {}
        for k, way in enumerate(WAYS):
            os.pwrite(at, struct.pack("qq", case, k), 0)
            outcomes[way] = traced.call(way, values)
        kind, failure = verdict(outcomes, name, is_large(made, values))
        if failure and refused and (label(traced.refusal) in _REFUSED or not outcomes["eager"][0]  # type: ignore[arg-type]
                                    or _both_of_ops(traced.refusal, outcomes["eager"][1])):
            counts[f"refused {told(label(traced.refusal), traced.refusal)[:120]} {made.kind}"] += 1  # type: ignore[arg-type]
            continue
        if failure:
            texts = [f"{way}: {told(*outcomes[way])}" for way in WAYS]
            print(json.dumps({"case": case, "kind": f"{made.kind} | {failure}",
                              "text": "\n".join([standalone(made, values), *texts])}), flush=True)
            counts["different"] += 1
        else:
            counts[kind] += 1
    print(json.dumps({"counts": counts, "done": True}), flush=True)


def _both_of_ops(*errors: Any) -> bool:
    """Whether a trace and eager mode say each what is wrong: a trace sees first what is wrong with static arguments."""
    import runtime as rt
    return all(isinstance(error, rt.errors.OpError) for error in errors)


def _stop(number: int, frame: Any) -> None:
    raise Slow


# In the process that watches them.

def campaign(seed: int, start: int, count: int, step: int = 1, at_start: bool = False, guarded: bool = True
             ) -> Iterator[Failure]:
    """Run `count` cases, every `step`th from `start` on, in processes: yields what fails. `summary` counts."""
    summary.cases += count
    end, crashes = start + count * step, collections.Counter[int]()
    with tempfile.TemporaryDirectory() as folder:
        place, log = Path(folder) / "place", Path(folder) / "log"
        while start < end:
            place.write_bytes(struct.pack("qq", start, -1))
            with log.open("w") as errors:
                process = subprocess.Popen(
                    [sys.executable, __file__, *map(str, (seed, start, end, step, place, int(at_start), int(guarded)))],
                    stdout=subprocess.PIPE, stderr=errors, text=True)
                done = False
                for line in _lines(process, place):
                    heard = json.loads(line)
                    if "case" in heard:
                        yield Failure(heard["case"], seed, heard["kind"], heard["text"])
                    else:
                        _count(heard["counts"])
                        done = heard.get("done", False)
                process.wait()
            if done:
                return
            case, way = struct.unpack("qq", place.read_bytes())
            made = program(seed, case // PER_PROGRAM)
            kind = "hang" if process.returncode == -signal.SIGABRT and "guard:" not in log.read_text() else "crash"
            values = arguments(seed, case, made)
            where = "tracing" if way < 0 else WAYS[way]
            if kind == "hang" and where in ("eager", "numpy") and is_large(made, values):
                summary.tolerated += 1  # a kernel of NumPy is not interrupted
                while start <= case:
                    start += step
                continue
            tail = "\n".join(_told_of(log.read_text().splitlines()))
            signals = signal.Signals(-process.returncode).name if process.returncode < 0 else str(process.returncode)
            yield Failure(case, seed, f"{made.kind} | {kind} in {where}",
                          f"{standalone(made, values)}\n{where}: {kind}: {signals}\n{tail}")
            crashes[case // PER_PROGRAM] += 1
            while start <= case or ((way < 0 or crashes[case // PER_PROGRAM] >= _CRASHES)
                                    and start // PER_PROGRAM == case // PER_PROGRAM):
                start += step


def _told_of(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("guard") or "Fatal" in line or "Error" in line][:3]


def _lines(process: Any, place: Path) -> Iterator[str]:
    """The lines that the process writes; it is stopped if it stays at one call."""
    import threading
    over = threading.Event()

    def watch() -> None:
        last, since = b"", 0.0
        while not over.wait(0.5):
            now, used = place.read_bytes(), _seconds_of(process.pid)
            if now != last:
                last, since = now, used
            elif used - since > _HANG * (8 if struct.unpack("qq", now)[1] < 0 else 1):
                process.send_signal(signal.SIGABRT)
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield from process.stdout
    finally:
        over.set()
        watcher.join()
        if process.poll() is None and sys.exc_info()[0] is not None:
            process.kill()


def _seconds_of(process: int) -> float:
    """The time that it had of a processor: others may use these, too."""
    try:
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


summary: Final = Summary()


def _count(counts: dict[str, int]) -> None:
    summary.programs += 1
    for key, times in counts.items():
        if key == "result":
            summary.results += times
        elif key in ("tolerated", "skipped", "different"):
            summary.tolerated += times * (key == "tolerated")
        elif key.startswith("refused "):
            summary.refused[key.removeprefix("refused ")] += times
        else:
            summary.errors[key.removeprefix("error ")] += times


def report(seed: int, count: int, shown: int = 2, start: int = 0, at_start: bool = False) -> int:
    """Run cases and print what fails, of each kind only the first few, and a summary; 1 if something failed."""
    kinds: collections.Counter[str] = collections.Counter()
    begun = time.perf_counter()
    for failure in campaign(seed, start, count, at_start=at_start):
        kinds[failure.kind] += 1
        if kinds[failure.kind] <= shown:
            print(failure, flush=True)
    crashes = sum(times for kind, times in kinds.items() if "crash in" in kind or "hang in" in kind)
    print(f"{summary.cases} cases of {summary.programs} programs in {time.perf_counter() - begun:.0f} s: "
          f"{summary.results} agreed results, {sum(summary.errors.values())} agreed errors, "
          f"{summary.tolerated} tolerated, {sum(summary.refused.values())} refused when traced, "
          f"{sum(kinds.values()) - crashes} differences, {crashes} crashes")
    for name, times in itertools.chain(summary.errors.most_common(), summary.refused.most_common(12),
                                       kinds.most_common()):
        print(f"    {times} x {name}")
    return 1 if kinds else 0


def run_one(seed: int, case: int) -> int:
    """Print a case as a program, and run it, guarded."""
    made = program(seed, case // PER_PROGRAM)
    print(standalone(made, arguments(seed, case, made)))
    failures = list(campaign(seed, case, 1))
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    *numbers, path, start_guarded, with_guard = sys.argv[1:]
    child(*map(int, numbers), path, start_guarded == "1", with_guard == "1")
    sys.stdout.flush()
    os._exit(0)
