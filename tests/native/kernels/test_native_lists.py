"""Lists in native code: random updates of several versions of a list, each of which has to stay as it is."""
from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from traced_once import on_both

import runtime as rt
from runtime.core.types import TensorType
from runtime.ops import lists as ops

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

Step = tuple[str, int, list[int]]
"""An op, which version of the list it takes, and integers: indices and what elements are made of."""


def updated(name: str, items: list[int], given: list[int]) -> list[int]:
    """What an op makes of a list in Python."""
    new = list(items)
    if name == "append":
        new.append(given[0])
    elif name == "extend":
        new += new
    elif name == "insert":
        new.insert(*given)
    elif name == "pop":
        new.pop(*given)
    elif name == "set":
        new[given[0]] = given[1]
    elif name == "slice":
        new = new[given[0]:given[1]:given[2]]
    elif name == "scatter":
        new[given[0]], new[given[1]] = given[2:]
    else:
        new += [0] * (given[0] + 1 - len(new))
        new[given[0]] = given[1]
    return new


def staged(name: str, items: Any, given: list[Any], element: Any) -> Any:
    """The same in a graph; `element` makes an element of a number."""
    if name == "append":
        return ops.list_append(items, element(given[0]))
    if name == "extend":
        return ops.list_extend(items, items)
    if name == "insert":
        return ops.list_insert(items, given[0], element(given[1]))
    if name == "pop":
        return ops.list_pop(items, *given)[0]
    if name == "set":
        return ops.list_set(items, given[0], element(given[1]))
    if name == "slice":
        return ops.list_slice(items, *given)
    if name == "scatter":
        return ops.list_scatter(items, rt.stack(given[:2]), rt.stack([element(x) for x in given[2:]]))
    return ops.list_scatter(items, rt.stack(given[:1]), rt.stack([element(given[1])]), grow=True)


def recipe(seed: int) -> tuple[list[Step], list[list[int]]]:
    """Steps, and the versions of the list that they make."""
    r = random.Random(seed)
    steps: list[Step] = []
    versions = [[1, 2, 3]]
    for _ in range(14):
        k = r.randrange(max(0, len(versions) - 3), len(versions))
        size, value = len(versions[k]), r.randint(10, 99)
        name, given = r.choice([
            ("append", [value]), ("insert", [r.randint(-size - 2, size + 2), value]),
            ("grow", [r.randint(0, 9), value]),
            ("slice", [r.randint(-size - 1, size + 1), r.randint(-size - 1, size + 1), r.choice([1, 2, -1, -3])]),
            *([("extend", [])] if size < 9 else []),
            *([("pop", []), ("pop", [r.randrange(-size, size)]), ("set", [r.randrange(-size, size), value]),
               ("scatter", [r.randrange(size), r.randrange(size), value, value + 1])] if size else [])])
        steps.append((name, k, given))
        versions.append(updated(name, versions[k], given))
    return steps, versions


@pytest.mark.parametrize("scalar", [True, False], ids=["scalars", "rows"])
@pytest.mark.parametrize("looped", [False, True], ids=["once", "in a loop"])
def test_random_updates(scalar: bool, looped: bool) -> None:
    type = TensorType(rt.int32, () if scalar else (2,))

    def element(x: Any) -> Any:
        return x if scalar else rt.stack([x, -x])

    for seed in range(5):
        steps, versions = recipe(seed)
        numbers = [x for _, _, given in steps for x in given]

        def run(numbers: Any, steps: Any = steps) -> Any:
            first = ops.list_new([element(rt.constant(k)) for k in (1, 2, 3)], type)
            made, at = [first], 0
            for name, k, given in steps:
                mine = [numbers[at + j] for j in range(len(given))]
                at += len(given)
                made.append(staged(name, made[k], mine, element))
            return [ops.list_stack(items) for items in made]

        def fn(numbers: Any, run: Any = run) -> Any:
            if not looped:
                return run(numbers)
            total = 0
            for turn in rt.range(3):
                total += turn * rt.reduce_sum(rt.concat(run(numbers), 0))
            return total

        native = rt.function(fn, executor="native", input_signature=[rt.TensorSpec([None], rt.int32)])
        assert "nothing calls Python" in native.get_concrete_function().explain_native()
        want = [np.array(items if scalar else [[x, -x] for x in items], np.int32).reshape(len(items), *type.shape)
                for items in versions]
        for _ in range(2):
            got = native(rt.constant(numbers, rt.int32))
            if looped:
                assert got.numpy() == 3 * sum(int(x.sum()) for x in want)
                continue
            for g, w in zip(got, want, strict=True):
                np.testing.assert_array_equal(g, w)


def test_updates_that_a_program_makes() -> None:
    def fn(xs: Any) -> Any:
        queue = [xs[0]]
        done = 0.0
        for x in xs:
            queue.insert(1, x * 2.0)
            if len(queue) > 3:
                done += queue.pop(0) * queue.pop(-2)
            queue = queue[::-1]
        return done, rt.stack(queue)

    for xs in ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [3.0], [2.0, 7.0, 1.0, 8.0]):
        results = []
        for f in on_both(fn, input_signature=[rt.TensorSpec([None], rt.float32)]).values():
            results.append([x.numpy().tolist() for x in f(xs)])
        assert "nothing calls Python" in f.get_concrete_function().explain_native()
        assert results[0] == results[1]


@pytest.mark.parametrize("looped", [False, True], ids=["once", "in a loop"])
def test_random_updates_of_several_shapes(looped: bool) -> None:
    """Elements of as many rows as their number says; some are not written."""
    type = TensorType(rt.int32, (None, 2))

    def element(x: Any) -> Any:
        return rt.reshape(rt.fill([2 * (x % 4)], x), [-1, 2])

    for seed in range(5):
        steps, versions = recipe(seed)
        numbers = [x for _, _, given in steps for x in given]

        def run(numbers: Any, steps: Any = steps) -> Any:
            made, at = [ops.list_new([element(rt.constant(k)) for k in (1, 2, 3)], type)], 0
            for name, k, given in steps:
                mine = [numbers[at + j] for j in range(len(given))]
                at += len(given)
                if name == "scatter":  # its rows have one shape
                    once = ops.list_set(made[k], mine[0], element(mine[2]))
                    made.append(ops.list_set(once, mine[1], element(mine[3])))
                else:
                    made.append(staged(name, made[k], mine, element))
            last = element(rt.constant(3))  # something is written then
            return ([ops.list_concat(ops.list_append(items, last)) for items in made],
                    [ops.list_length(items) for items in made])

        def fn(numbers: Any, run: Any = run) -> Any:
            if not looped:
                return run(numbers)
            total = 0
            for turn in rt.range(3):
                total += turn * rt.reduce_sum(rt.concat(run(numbers)[0], 0))
            return total

        results = []
        for f in on_both(fn, input_signature=[rt.TensorSpec([None], rt.int32)]).values():
            for _ in range(2):
                results.append([x.numpy().tolist() for x in rt.nest.flatten(f(rt.constant(numbers, rt.int32)))])
        assert "nothing calls Python" in f.get_concrete_function().explain_native()
        assert all(result == results[0] for result in results)
        assert looped or results[0][len(versions):] == [len(items) for items in versions]


def pieces_of(x: Any, lengths: Any) -> Any:
    """Each piece twice, and a sum over pieces."""
    array = rt.TensorArray(rt.float32, size=0, dynamic_size=True, infer_shape=False)
    array = array.split(x, lengths)
    total = 0.0
    for i in range(array.size()):
        piece = array.read(i)
        total += rt.reduce_sum(piece) * rt.cast(i + 1, rt.float32)
        array = array.write(i, rt.concat([piece, piece], 0))
    return total, array.concat()


def triangle(n: Any) -> Any:
    """Rows of growing sizes, in a list that is a state, in a branch, and swapped with another."""
    rows, others = [rt.zeros([1])], [rt.ones([2])]
    for i in range(n):
        row = rt.ones([i]) * rt.cast(i, rt.float32)
        if i % 3 == 0:
            others.append(row)
        else:
            rows.append(row)
        rows, others = others, rows
    return [rt.concat([rt.constant([float(k)]), row], 0) for k, row in enumerate(rows)][-1], others[-1]


def kept_for_a_handler(x: Any) -> Any:
    rows = [x]
    try:
        for i in range(5):
            rows.append(rt.concat([rows[-1], x], 0))
            if i == 3:
                raise ValueError("enough")
    except ValueError:
        rows.append(x * 2.0)
    return rt.reduce_sum(rows[-2]) + rt.reduce_sum(rows[-1]), len(rows)


@pytest.mark.parametrize("fn, arguments", [
    (pieces_of, (np.arange(12, dtype=np.float32).reshape(6, 2), np.array([2, 0, 3, 1], np.int32))),
    (triangle, (np.int32(11),)), (kept_for_a_handler, (np.arange(3, dtype=np.float32),))], ids=lambda x: getattr(
        x, "__name__", ""))
def test_programs_with_several_shapes(fn: Any, arguments: Any) -> None:
    results = []
    specs = [rt.TensorSpec([None] * min(a.ndim, 1) + list(a.shape[1:]), a.dtype) for a in arguments]
    for f in on_both(fn, input_signature=specs).values():
        results.append([np.asarray(x).tolist() for x in rt.nest.flatten(f(*arguments))])
    assert "calls Python: " not in f.get_concrete_function().explain_native()
    assert results[0] == results[1]


def test_errors_of_several_shapes() -> None:
    """What the kernels refuse, native code does, too."""
    def stacked(lengths: Any) -> Any:
        return rt.TensorArray(rt.float32, 3, infer_shape=False).split(rt.ones([6]), lengths).stack()

    def unwritten(lengths: Any) -> Any:
        return rt.TensorArray(rt.float32, 3, element_shape=[None]).read(lengths[0])

    for fn, lengths, message in (
            (stacked, [2, 2, 1], "the lengths to split into have the sum 5, but the tensor has 6 rows"),
            (stacked, [4, -1, 3], "the lengths to split into are at least 0, not -1"),
            (stacked, [3, 2, 1], "elements to stack need one shape, but element 0 has the shape [3] and element 1 [2]"),
            (unwritten, [1, 2, 3], "Tried to read an element that was not written, and the shape of the elements, [?], "
                                   "is not fully known"),
            (unwritten, [3, 2, 3], "Tried to read from index 3 but array size is: 3")):
        for executor in ("numpy", "native"):
            with pytest.raises((ValueError, IndexError, rt.errors.InvalidArgumentError)) as caught:
                rt.function(fn, executor=executor)(rt.constant(lengths))
            assert message in str(caught.value)


def test_room_is_used_again() -> None:
    """Elements that change their sizes for ever take no more memory than twice what the list holds."""
    @rt.function(executor="native")
    def f(n: Any) -> Any:
        array = rt.TensorArray(rt.float32, 4, infer_shape=False, element_shape=[None])
        for i in range(n):
            array = array.write(i % 4, rt.ones([1000 + i % 7]))
        return rt.reduce_sum(array.concat())

    assert f(rt.constant(8)) == 4 * 1000 + 4 + 5 + 6 + 0
    rt.config.experimental.reset_memory_stats("CPU:0")
    before = rt.config.experimental.get_memory_info("CPU:0")["current"]
    assert f(rt.constant(20000)) == 4 * 1000 + sum(i % 7 for i in range(19996, 20000))
    assert rt.config.experimental.get_memory_info("CPU:0")["peak"] - before < 200_000


def test_a_list_that_many_loops_grow_is_compiled_in_seconds() -> None:
    """LLVM's loop strength reduction took minutes for it, when it saw where the length came from."""
    def f(n):
        out = []
        for k in range(80):
            for i in range(n % 6, -1, -2):
                out.append((i - 2) % 31 + k)
        return out

    got = rt.function(f, executor="native")(rt.constant(4))
    assert [int(x) for x in got] == f(4)


def rows_of(x: Any) -> Any:
    rows = rt.TensorArray(rt.float32, size=0, dynamic_size=True, element_shape=[3])
    for row in x:
        rows = rows.write(rows.size(), row * 2)
    return rows


def an_element_as_state(x: Any, n: Any) -> Any:
    rows = rows_of(x)
    state, before = x[0], x[0]
    for i in rt.range(n):
        before = state
        state = rows.read(i % 3)
        state = state + before
    return state, before, rows.stack()


def an_element_that_stays_the_state(x: Any, n: Any) -> Any:
    rows = rows_of(x)
    state = x[0]
    for i in rt.range(n):
        if i % 2 == 0:
            state = rows.read(i % 3)
        else:
            state = rt.tensor_scatter_nd_update(state, [[0]], [-7.0])
    return state, rows.stack()


def written_elements(x: Any, n: Any) -> Any:
    rows = rows_of(x)
    total = x[0] * 0
    i = rt.constant(0)
    while i < n:
        row = rows.read(i % 3)
        row = rt.tensor_scatter_nd_update(row, [[1]], [rt.cast(i, rt.float32)])
        total += row
        i += 1
    return total, row, rows.stack()


def read_and_grown(x: Any, n: Any) -> Any:
    rows = rows_of(x)
    state = x[0]
    for i in rt.range(n):
        kept = rows.read(i)
        for k in rt.range(3):
            rows = rows.write(rows.size(), kept + rows.read(k))
        state = state + kept
    return state, rows.stack()


def nested(x: Any, n: Any) -> Any:
    last = x[0]
    for i in rt.range(n):
        rows = rows_of(x + rt.cast(i, rt.float32))
        for k in rt.range(3):
            if k < 2:
                last = rows.read(k)
    return last


@pytest.mark.parametrize("fn", [an_element_as_state, an_element_that_stays_the_state, written_elements, read_and_grown,
                                nested])
def test_elements_of_lists_from_outside_of_a_loop(fn: Any) -> None:
    x = rt.constant(np.arange(9, dtype=np.float32).reshape(3, 3))
    for n in (1, 2, 5):
        count = rt.constant(n)
        wanted = rt.function(fn, executor="numpy")(x, count)
        found = rt.function(fn, executor="native")(x, count)
        for a, b in zip(rt.nest.flatten(wanted), rt.nest.flatten(found), strict=True):
            np.testing.assert_array_equal(a, b)


def test_elements_of_lists_from_outside_of_a_loop_are_not_copied() -> None:
    def copies(count: int) -> int:
        def summed(x: Any, n: Any) -> Any:
            rows = rows_of(x)
            total = x[0]
            for i in rt.range(n):
                for k in range(count):
                    total += rows.read(i + k)
            return total

        concrete = rt.function(summed, executor="native").get_concrete_function(
            rt.TensorSpec([9, 3], rt.float32), rt.TensorSpec([], rt.int32))
        return concrete.inspect_llvm(optimized=False).count("call void @llvm.memcpy")

    assert copies(1) == copies(4)
