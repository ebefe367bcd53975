"""Lists from before that each call makes longer: one trace for all lengths."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt

LOG: list[Any] = []


class Trainer:
    def __init__(self) -> None:
        self.log: list[Any] = []
        self.history: dict[str, list[Any]] = {"loss": [], "accuracy": []}
        self.n = 0

    def append(self, x):
        self.log.append(x * 2.0)
        return x

    def take_last(self, x):
        last = self.log[-1] if self.log else 0.0
        self.log.append(x + last)
        return last

    def count(self, x):
        self.log.append(x)
        return len(self.log)

    def mean(self, x):
        self.log.append(x)
        total = 0.0
        for value in self.log:
            total = total + value
        return total / len(self.log)

    def window(self, x):
        self.log.append(x)
        if len(self.log) > 4:
            self.log.pop(0)
        return self.log[0]

    def append_some(self, x):
        if x > 2:
            self.log.append(x)
        return x

    def append_in_a_loop(self, x):
        for i in range(3):
            self.log.append(x + i)
        return self.log[-2]

    def append_to_lists_in_a_dict(self, x):
        self.history["loss"].append(x)
        self.history["accuracy"].append(x * 2)
        return self.history["loss"][0]

    def clear_sometimes(self, x):
        self.log.append(x)
        if self.n % 3 == 2:
            self.log.clear()
        self.n += 1
        return x

    def sum_recent(self, x):
        self.log.append(x)
        total = 0.0
        for value in self.log[-3:]:
            total = total + value
        return total

    def stop_early(self, x):
        self.log.append(x)
        if len(self.log) > 5 and self.log[-1] > self.log[-3]:
            return self.log[-1]
        return x * 0

    def keep_recent(self, x):
        self.log.append(x)
        self.log = self.log[-3:]
        return x

    def squares(self, x):
        self.log.append(x)
        return sum([value * value for value in self.log])

    def pairs(self, x):
        self.log.append((x, (x * 2, x + 1)))
        return self.log[-1][1][0]

    def text(self, x):
        self.log.append(x)
        return f"{len(self.log)}"


def plain(x: Any) -> Any:
    if isinstance(x, (rt.Tensor, np.ndarray)):
        return round(float(x), 3)
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if isinstance(x, dict):
        return {key: plain(item) for key, item in x.items()}
    return plain(vars(x)) if hasattr(x, "__dict__") else round(x, 3) if isinstance(x, float) else x


METHODS = [method for name, method in vars(Trainer).items() if not name.startswith("__")]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("method", METHODS, ids=[method.__name__ for method in METHODS])
def test_as_in_python_with_few_traces(method: Callable[..., Any], executor: str) -> None:
    python, traced = Trainer(), Trainer()
    run = rt.function(getattr(traced, method.__name__), executor=executor)
    for number, x in enumerate([1.0, 3.0, 2.0, 5.0, 4.0, 2.0, 7.0, 1.0, 3.0, 9.0]):
        want = method(python, x)
        assert plain(run(rt.constant(x))) == plain(want), number
        assert plain(traced) == plain(python), number
    assert run.experimental_get_tracing_count() <= 4


def test_tensors_that_stay_are_the_same_objects() -> None:
    trainer = Trainer()
    run = rt.function(trainer.append)
    kept: list[Any] = []
    for number in range(6):
        run(rt.constant(float(number)))
        assert all(map(lambda a, b: a is b, kept, trainer.log))
        kept = list(trainer.log)
    assert [float(x) for x in kept] == [0, 2, 4, 6, 8, 10]


def test_a_global_list() -> None:
    LOG.clear()

    @rt.function
    def noted(x):
        LOG.append(x)
        return x

    for number in range(8):
        noted(rt.constant(number))
    assert [int(x) for x in LOG] == [*range(8)] and noted.experimental_get_tracing_count() == 3


def test_changes_between_calls_are_seen() -> None:
    trainer = Trainer()
    run = rt.function(trainer.mean)
    for number in range(5):
        run(rt.constant(float(number)))
    trainer.log.append(rt.constant(90.0))
    assert round(float(run(rt.constant(0.0))), 4) == round(100 / 7, 4)
    del trainer.log[:]
    assert float(run(rt.constant(4.0))) == 4
    trainer.log[:] = [rt.constant([1.0, 2.0])]
    assert run(rt.constant([3.0, 2.0])).numpy().tolist() == [2, 2]


def test_items_of_another_structure_have_another_trace() -> None:
    trainer = Trainer()

    @rt.function
    def first(x):
        trainer.log.append(trainer.log[0])
        return trainer.log[0][0]

    a, b, c = (rt.constant(x) for x in (1.0, 2.0, 3.0))
    for item, want in (((a, (b, c)), [1]), (((a, b), c), [1, 2])):
        trainer.log[:] = [item]
        for _ in range(5):
            assert np.ravel(first(a)).tolist() == want
        assert all(type(x) is tuple and type(x[0]) is type(item[0]) for x in trainer.log) and len(trainer.log) == 6


def test_what_needs_the_length_is_traced_for_each() -> None:
    trainer = Trainer()

    @rt.function
    def spelled(x):
        trainer.log.append(x)
        return f"{7:{len(trainer.log)}}"

    with pytest.warns(rt.RetracingWarning, match="another length each time"):
        found = [spelled(rt.constant(1.0)) for _ in range(6)]
    assert found == [f"{7:{n}}" for n in range(1, 7)] and len(trainer.log) == 6


def test_the_warning_about_lengths_fits_dicts() -> None:
    @rt.function
    def size(d, x):
        return x + len(d)

    with pytest.warns(rt.RetracingWarning, match="size was traced 5 times because 'd' has another length each time"):
        assert [int(size({k: k for k in range(n)}, rt.constant(1))) for n in range(6)] == [1, 2, 3, 4, 5, 6]
