"""Lists in native code: items at both ends take constant time, and copies stay as they are when the list changes."""
from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest
from plain_values import executors

import autograph as ag
import runtime as rt

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")


def plain(value: Any) -> Any:
    return [plain(item) for item in value] if isinstance(value, (list, tuple, deque)) else int(value)


# Random changes

def changed(steps, numbers):
    queue, items, seen = deque(), [], 0
    for i in range(len(steps)):
        step, number = steps[i], numbers[i]
        if step == 0:
            queue.append(number)
        elif step == 1:
            queue.appendleft(number)
        elif step == 2:
            if queue:
                seen = (3 * seen + queue.popleft()) % 10007
        elif step == 3:
            if queue:
                seen = (5 * seen + queue.pop()) % 10007
        elif step == 4:
            queue.rotate(1)
        elif step == 5:
            queue.rotate(-2)
        elif step == 6:
            items.insert(0, number)
        elif step == 7:
            if len(items) > 3:
                items = items[2:]
        elif step == 8:
            if len(items) > 3:
                items = items[:-1]
        elif step == 9:
            if items:
                seen = (7 * seen + items.pop(0)) % 10007
        elif step == 10:
            items.append(seen % 100)
        elif step == 11:
            if len(queue) > 1:
                queue[0] = number
                queue[-1] += 1
        elif step == 12:
            items.extend(queue)
        else:
            items = items[:20]
    return seen, queue, items


def test_random_changes_at_both_ends() -> None:
    staged, random = rt.function(changed, executor="native"), np.random.default_rng(1)
    for _ in range(40):
        shares = random.random(14) + 0.05
        shares[12] *= 0.05
        steps = random.choice(14, random.integers(1, 3000), p=shares / shares.sum()).astype(np.int32)
        numbers = random.integers(0, 100, len(steps)).astype(np.int32)
        found = staged(rt.constant(steps), rt.constant(numbers))
        assert plain(found) == plain(changed(steps.tolist(), numbers.tolist()))


# Time and memory

def turned(n, steps):
    queue = deque(range(n))
    for _ in range(steps):
        queue.append(queue.popleft())
    for _ in range(steps):
        queue.appendleft(queue.pop())
    return queue[0], len(queue)


def test_a_queue_stays_in_its_memory() -> None:
    fn = rt.function(turned, executor="native")
    fn(rt.constant(1000), rt.constant(1))
    rt.config.experimental.reset_memory_stats("CPU:0")
    before = rt.config.experimental.get_memory_info("CPU:0")["peak"]
    assert plain(fn(rt.constant(1000), rt.constant(200_001))) == [0, 1000]
    assert rt.config.experimental.get_memory_info("CPU:0")["peak"] - before < 100_000


def taken(n):
    items, total = [], 0
    for i in range(n):
        items.append(i)
    while items:
        total += items.pop(0)
    while n > 0:
        items.insert(0, n)
        items = items[1:]
        n -= 1
    return total


def test_no_item_moves() -> None:
    code = rt.function(taken, executor="native").get_concrete_function(rt.TensorSpec([], rt.int32)).inspect_llvm(
        optimized=False)
    assert "llvm.memmove" not in code


# Copies that share memory until one of them changes

def filled(n):
    items = []
    for i in range(n):
        items.append(i)
    return items


def popped(n, _):
    xs = filled(n)
    ys = xs.copy()
    ys.pop()
    xs[0] = 50
    ys.append(9)
    xs.append(8)
    return xs, ys


def popped_in_a_branch(n, _):
    xs = filled(n)
    ys = xs.copy()
    if n > 3:
        ys.pop()
    xs[0] = 50
    return xs, ys


def left_in_a_branch(n, _):
    xs = filled(n)
    ys = xs.copy()
    if n > 3:
        ys.append(3)
    xs[0] = 50
    return xs, ys


def popped_in_a_loop(n, _):
    xs = filled(n)
    ys = xs.copy()
    for i in range(n):
        zs = xs.copy()
        if n > 3:
            zs.pop()
            xs[i] = 50 + zs[0]
            ys = zs
    return xs, ys


def copied_in_a_branch(n, _):
    xs, ys = filled(n), [7]
    if n > 3:
        xs.append(1)
        ys = xs.copy()
    xs[0] = 50
    ys[0] += 1
    return xs, ys


def copied_or_not(n, _):
    xs, ys = filled(n), filled(2)
    if n > 3:
        ys = xs.copy()
    else:
        ys.append(4)
    xs[0] = 50
    ys.append(3)
    return xs, ys


def two_copies(n, _):
    xs = filled(n)
    ys, zs = xs.copy(), xs.copy()
    if n > 3:
        ys.append(4)
        zs = ys.copy()
    ys[0], zs[1], xs[0] = 5, 6, 50
    return xs, ys, zs


def of_a_tensor(n, x):
    """The copy becomes a list of int64 by its new item."""
    xs = filled(n)
    ys = xs.copy()
    ys[0] = x
    ys.append(x)
    return xs, ys


def cut(n, _):
    xs = filled(n)
    ys = xs[1:]
    zs = ys.copy()
    ys.pop(0)
    xs.insert(0, 7)
    zs.insert(0, 9)
    ws = zs[:2]
    ws.append(3)
    zs[0] = 4
    return xs, ys, zs, ws


@executors
@pytest.mark.parametrize("fn", [
    popped, popped_in_a_branch, left_in_a_branch, popped_in_a_loop, copied_in_a_branch, copied_or_not, two_copies,
    of_a_tensor, cut])
def test_copies(fn: Any, executor: str) -> None:
    staged = rt.function(fn, executor=executor)
    for n in 5, 2:
        expected = plain(ag.convert(fn)(n, 77))
        assert plain(staged(rt.constant(n, rt.int64), rt.constant(77, rt.int64))) == expected
