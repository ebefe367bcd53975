"""Many programs one after the other."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fuzz.compare import PLAIN_WAYS, TENSOR_WAYS, Timeout, Verdict, judge
from fuzz.generate import PRELUDE, generate
from fuzz.shrink import shrink

__all__ = ["Failure", "Result", "campaign"]


@dataclass(frozen=True)
class Failure:
    """A program that does not mean what Python means."""

    seed: int
    kind: str
    verdict: Verdict
    text: str

    def __str__(self) -> str:
        text = self.text.removeprefix(PRELUDE)
        return f"--- {self.kind} program of seed {self.seed}\n{text.strip()}\n    {self.verdict}\n"


@dataclass(frozen=True)
class Result:
    failure: Failure | None = None
    refused: str = ""


def campaign(
    count: int, seed: int, kind: str = "both", shrunk: bool = True, native: bool = True
) -> Iterator[Result]:
    """The outcome of `count` programs from `seed` on, plain and tensor ones in turn. `native`: tensor programs run on
    the native executor, too, where that is installed."""
    for current in range(seed, seed + count):
        tensor = kind == "tensor" or (kind == "both" and current % 2 == 1)
        ways = TENSOR_WAYS if tensor else PLAIN_WAYS
        if not native:
            ways = tuple([way for way in ways if way != "native"])
        text = generate(current, tensor)
        try:
            verdict = judge(text, ways)
        except Timeout:
            raise AssertionError(f"program {current} does not come to an end in Python itself:\n{text}") from None
        if not verdict:
            yield Result(refused=verdict.refused)
            continue
        if shrunk:
            text = shrink(text, lambda candidate: _same(candidate, verdict))
            verdict = judge(text, (verdict.way,)) or verdict
        yield Result(Failure(current, "tensor" if tensor else "plain", verdict, text))


def _same(text: str, verdict: Verdict) -> bool:
    try:
        return judge(text, (verdict.way,), (verdict.arguments,), seconds=1.0).kind == verdict.kind
    except (Timeout, Exception):
        return False
