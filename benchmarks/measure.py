"""Measuring: medians and minima of alternating runs, and the rows of the table."""
from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["OURS", "Budget", "Row", "fastest", "in_turns", "once_each"]

OURS = "this"
Run = Callable[[], Any]


@dataclass(frozen=True)
class Budget:
    """How much time to take: `seconds` per row and subject, `repeat` one-off measurements, 1 / `share` of a corpus."""

    seconds: float = 0.5
    repeat: int = 9
    share: int = 1
    peers: bool = True


FULL = Budget()
QUICK = Budget(seconds=0.01, repeat=1, share=40, peers=False)


@dataclass(frozen=True)
class Row:
    """A row of the table: a figure for each subject, in `unit`; `target` is the goal for this project."""

    name: str
    unit: str
    figures: Mapping[str, float]
    target: str = ""
    met: bool | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


def in_turns(runs: Mapping[str, Run], budget: Budget) -> dict[str, float]:
    """The median seconds of a call of each, measured alternately. Each is called twice before."""
    loops = {}
    for name, run in runs.items():
        run()
        start = time.perf_counter()
        run()
        took = time.perf_counter() - start
        loops[name] = max(1, int(budget.seconds / 20 / max(took, 1e-7)))
    samples: dict[str, list[float]] = {name: [] for name in runs}
    deadline = time.perf_counter() + budget.seconds * len(runs)
    while time.perf_counter() < deadline or len(next(iter(samples.values()))) < 3:
        for name, run in runs.items():
            count = loops[name]
            start = time.perf_counter()
            for _ in range(count):
                run()
            samples[name].append((time.perf_counter() - start) / count)
    return {name: statistics.median(times) for name, times in samples.items()}


_LOOK = 0.005  # seconds
_PATIENCE = 0.5


def _rest() -> None:
    """Wait until no thread works: the previous subject's threads spin before they sleep, OpenBLAS's for 0.1 s."""
    deadline = time.perf_counter() + _PATIENCE
    while time.perf_counter() < deadline:
        before = time.process_time()
        time.sleep(_LOOK)
        if time.process_time() - before < _LOOK / 5:
            return


def fastest(runs: Mapping[str, Run], budget: Budget) -> dict[str, float]:
    """The minimal seconds of a call of each: for ratios with a target, on machines that also do other work.

    They alternate, each running for a short stretch after a warm-up call, which restores its threads and caches. A call
    that exceeds the whole time budget is counted itself, and is the only one.
    """
    samples: dict[str, list[float]] = {name: [] for name in runs}
    spent = dict.fromkeys(runs, 0.0)
    while waiting := [name for name in runs if spent[name] < budget.seconds]:
        for name in waiting:
            if budget.repeat > 1:
                _rest()
            start = time.perf_counter()
            runs[name]()
            begin = time.perf_counter()
            one = min([begin - start, *samples[name][-1:]])  # the warm-up call may differ much from the others
            count = max(1, int(min(budget.seconds / 40, 0.01) / max(one, 1e-7)))
            if begin - start < budget.seconds:
                for _ in range(count):
                    runs[name]()
                samples[name].append((time.perf_counter() - begin) / count)
            else:
                samples[name].append(begin - start)
            spent[name] += time.perf_counter() - start
    return {name: min(times) for name, times in samples.items()}


def once_each(runs: Iterable[Mapping[str, Run]]) -> dict[str, float]:
    """The median seconds of calls that can be measured only once: a fresh call for each subject in each round.

    The first round, in which the subjects fill their tables and caches, does not count.
    """
    samples: dict[str, list[float]] = {}
    for runs_of_round in runs:
        for name, run in runs_of_round.items():
            start = time.perf_counter()
            run()
            samples.setdefault(name, []).append(time.perf_counter() - start)
    return {name: statistics.median(times[1:] or times) for name, times in samples.items()}
