"""rt.data.Dataset: making, changing, reading, and in traced functions."""
from __future__ import annotations

import re

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on

Dataset = rt.data.Dataset
HERE = re.escape(__file__)


def values(dataset):
    return [rt.nest.map_structure(lambda x: x.tolist(), element) for element in dataset.as_numpy_iterator()]


# --- Making -------------------------------------------------------------------------------------------------


def test_from_tensors_and_slices():
    assert values(Dataset.from_tensors([1, 2])) == [[1, 2]]
    assert values(Dataset.from_tensor_slices([1, 2])) == [1, 2]
    assert values(Dataset.from_tensor_slices(([1, 2], [[3], [4]]))) == [(1, [3]), (2, [4])]
    d = Dataset.from_tensor_slices({"b": np.array([1.5, 2.5]), "a": [1, 2]})
    assert values(d) == [{"b": 1.5, "a": 1}, {"b": 2.5, "a": 2}]
    assert d.element_spec == {"b": rt.TensorSpec([], rt.float64), "a": rt.TensorSpec([], rt.int32)}
    assert len(d) == 2 and d.cardinality() == 2 and len(Dataset.from_tensors(1)) == 1
    assert repr(d) == f"<Dataset element_spec={d.element_spec!r}>"
    with pytest.raises(ValueError, match=rf"{HERE}:\d+: a dataset of slices needs tensors with at least one dimension"):
        Dataset.from_tensor_slices(3)
    with pytest.raises(ValueError, match="do not pair up: their lengths are 2, 3"):
        Dataset.from_tensor_slices(([1, 2], [1, 2, 3]))


def test_range():
    assert values(Dataset.range(3)) == [0, 1, 2]
    assert values(Dataset.range(1, 3)) == [1, 2] and values(Dataset.range(5, 0, -2)) == [5, 3, 1]
    assert values(Dataset.range(rt.constant(2))) == [0, 1] and len(Dataset.range(1, 10, 4)) == 3
    assert Dataset.range(2).element_spec == rt.TensorSpec([], rt.int64)
    assert Dataset.range(2, output_type=rt.float32).element_spec.dtype is rt.float32
    with pytest.raises(rt.errors.InvalidArgumentError, match="a step that is not 0"):
        Dataset.range(1, 2, 0)
    with pytest.raises(TypeError, match=r"a dataset counts with integer scalars, not float32\[\]"):
        Dataset.range(1.5)


def test_from_generator():
    calls = []

    def generate(n):
        calls.append(n)
        for i in range(int(n)):
            yield i, [float(i)] * i

    signature = (rt.TensorSpec([], rt.int32), rt.TensorSpec([None], rt.float32))
    d = Dataset.from_generator(generate, args=(3,), output_signature=signature)
    assert values(d) == [(0, []), (1, [1.0]), (2, [2.0, 2.0])]
    assert values(d.take(1)) == [(0, [])] and len(calls) == 2
    with pytest.raises(TypeError, match="The dataset length is unknown"):
        len(d)
    old = Dataset.from_generator(lambda: iter([(1, 2.0)]), (rt.int64, rt.float32), ([], []))
    assert values(old) == [(1, 2.0)]


@pytest.mark.parametrize(("element", "error", "what"), [
    (1.5, TypeError, r"the generator yielded 1.5, but its output_signature says int32\[2\]"),
    (np.full(2, np.nan), TypeError, r"the generator yielded float64\[2\], but its output_signature says int32\[2\]"),
    ([1, 2, 3], ValueError, r"the generator yielded int32\[3\], but its output_signature says int32\[2\]"),
])
def test_a_generator_that_yields_what_it_should_not(element, error, what):
    d = Dataset.from_generator(lambda: [element], output_signature=rt.TensorSpec([2], rt.int32))
    with pytest.raises(error, match=what):
        list(d)
    with pytest.raises(error, match=what):
        d.reduce(0, lambda n, x: n + 1)


def test_shapes_of_a_generator_are_those_of_its_first_element():
    calls = []

    def generate(n):
        calls.append(int(n))
        for i in range(int(n)):
            yield {"x": [float(i)] * (i + 1), "y": i}

    d = Dataset.from_generator(generate, args=(2,))
    assert calls == [2]
    assert d.element_spec == {"x": rt.TensorSpec([None], rt.float32), "y": rt.TensorSpec([], rt.int32)}
    assert values(d) == [{"x": [0.0], "y": 0}, {"x": [1.0, 1.0], "y": 1}]
    numbers = Dataset.from_generator(lambda: iter([1, 2]), output_types=rt.int64)
    assert numbers.element_spec == rt.TensorSpec([], rt.int64) and values(numbers) == [1, 2]
    rows = Dataset.from_generator(lambda: iter([[1, 2], [3]]), rt.float32)
    assert values(rows) == [[1.0, 2.0], [3.0]]


def test_ranks_that_a_signature_of_from_generator_leaves_unknown():
    def generate():
        for i in range(3):
            yield {"x": [[float(i)] * (i + 1)], "n": i}

    signature = {"x": rt.TensorSpec(None, rt.float32), "n": rt.TensorSpec([], rt.int64)}
    d = Dataset.from_generator(generate, output_signature=signature)
    assert d.element_spec == {"x": rt.TensorSpec([None, None], rt.float32), "n": rt.TensorSpec([], rt.int64)}
    assert [x["x"].numpy().tolist() for x in d] == [[[0.0]], [[1.0, 1.0]], [[2.0, 2.0, 2.0]]]
    old = Dataset.from_generator(generate, {"x": rt.float32, "n": rt.int64}, {"x": None, "n": []})
    assert old.element_spec == d.element_spec


def test_arguments_of_from_generator():
    with pytest.raises(TypeError, match="generator must be callable"):
        Dataset.from_generator([1], output_signature=rt.TensorSpec([], rt.int32))
    with pytest.raises(ValueError, match="has no element from which shapes could be inferred"):
        Dataset.from_generator(lambda: [])
    with pytest.raises(TypeError, match="the first element of the generator has 1 parts, but output_types has 2"):
        Dataset.from_generator(lambda: [1], (rt.int32, rt.int32))
    with pytest.raises(TypeError, match="output_signature must hold rt.TensorSpec objects"):
        Dataset.from_generator(lambda: [1], output_signature=rt.int32)
    with pytest.raises(TypeError, match="the first element of the generator has 2 parts, but output_types has 1"):
        Dataset.from_generator(lambda: [(1, 2)], output_signature=rt.TensorSpec(None, rt.int32))
    d = Dataset.from_generator(lambda: [(1,)], output_signature=(rt.TensorSpec([], rt.int32),) * 2)
    with pytest.raises(ValueError, match="the generator yielded .* which does not have the structure"):
        list(d)


# --- Changing -----------------------------------------------------------------------------------------------


def test_map_is_converted_and_traced_once():
    traces = []

    def halve(x, y):
        traces.append(1)
        if x % 2 == 0:
            x = x // 2
        return {"x": x, "y": [y, y]}

    d = Dataset.from_tensor_slices(([1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0])).map(halve, num_parallel_calls=rt.data.AUTOTUNE)
    assert values(d) == [{"x": x, "y": [y, y]} for x, y in [(1, 1.0), (1, 2.0), (3, 3.0), (2, 4.0)]]
    values(d)
    assert traces == [1]
    assert d.element_spec == {"x": rt.TensorSpec([], rt.int32), "y": rt.TensorSpec([2], rt.float32)}


def test_map_captures():
    k, v = rt.constant(10, rt.int64), rt.Variable(0, dtype=rt.int64)

    def step(x):
        v.assign_add(1)
        return x + k

    d = Dataset.range(3).map(step)
    assert values(d) == [10, 11, 12] and v.numpy() == 3
    assert values(d.map(rt.function(lambda x: x * 2))) == [20, 22, 24]


def test_filter_and_take_while():
    assert values(Dataset.range(6).filter(lambda x: x % 2 == 0)) == [0, 2, 4]
    assert values(Dataset.range(6).take_while(lambda x: x < 2)) == [0, 1]
    pairs = Dataset.zip((Dataset.range(4), Dataset.range(4, 8)))
    assert values(pairs.filter(lambda x, y: x > 1 and y < 7)) == [(2, 6)]
    with pytest.raises(TypeError, match=r"<lambda> gives int64\[\], but a predicate gives a bool scalar"):
        Dataset.range(3).filter(lambda x: x)


def test_batch_and_unbatch():
    d = Dataset.range(5).batch(2)
    assert values(d) == [[0, 1], [2, 3], [4]] and len(d) == 3 and d.element_spec.shape == [None]
    d = Dataset.range(5).batch(2, drop_remainder=True)
    assert values(d) == [[0, 1], [2, 3]] and len(d) == 2 and d.element_spec.shape == [2]
    assert values(d.unbatch()) == [0, 1, 2, 3] and len(d.unbatch()) == 4
    assert values(Dataset.from_tensor_slices(([1, 2], [3, 4])).batch(2)) == [([1, 2], [3, 4])]
    ragged = Dataset.from_generator(lambda: [[1], [1, 2]], output_signature=rt.TensorSpec([None], rt.int32)).batch(2)
    with pytest.raises(ValueError, match=r"elements of different shapes do not make a batch: \(1,\) and \(2,\)"):
        list(ragged)
    with pytest.raises(rt.errors.InvalidArgumentError, match="a batch has at least 1 element, not 0"):
        Dataset.range(5).batch(0)
    with pytest.raises(ValueError, match="unbatch needs elements with at least one dimension"):
        Dataset.range(5).unbatch()


def test_zip_concatenate_and_enumerate():
    a, b = Dataset.range(3), Dataset.from_tensor_slices([1.0, 2.0])
    assert values(Dataset.zip((a, b))) == [(0, 1.0), (1, 2.0)] == values(Dataset.zip(a, b))
    assert values(Dataset.zip({"a": a, "b": (b, a)})) == [{"a": 0, "b": (1.0, 0)}, {"a": 1, "b": (2.0, 1)}]
    assert len(Dataset.zip((a, b))) == 2 and len(Dataset.zip((a, a.repeat()))) == 3
    assert values(a.concatenate(Dataset.range(9, 10))) == [0, 1, 2, 9] and len(a.concatenate(a)) == 6
    two = Dataset.from_tensors([1]).concatenate(Dataset.from_tensors([1, 2]))
    assert two.element_spec.shape == [None] and values(two) == [[1], [1, 2]]
    assert values(b.enumerate()) == [(0, 1.0), (1, 2.0)] and values(b.enumerate(5)) == [(5, 1.0), (6, 2.0)]
    with pytest.raises(TypeError, match=r"datasets of int64\[\] and float32\[\] do not concatenate"):
        a.concatenate(b)
    with pytest.raises(TypeError, match="Dataset.zip takes datasets, not 3"):
        Dataset.zip((a, 3))


def test_take_skip_repeat():
    d = Dataset.range(4)
    assert values(d.take(2)) == [0, 1] and values(d.take(-1)) == [0, 1, 2, 3] and values(d.take(9)) == [0, 1, 2, 3]
    assert values(d.skip(3)) == [3] and values(d.skip(-1)) == [] and values(d.skip(9)) == []
    assert values(d.repeat(2)) == [0, 1, 2, 3] * 2 and values(d.repeat(0)) == []
    assert values(d.repeat().take(6)) == [0, 1, 2, 3, 0, 1] and values(d.take(0).repeat()) == []
    assert [len(x) for x in (d.take(2), d.take(9), d.take(-1))] == [2, 4, 4]
    assert [len(x) for x in (d.skip(3), d.skip(9), d.repeat(3))] == [1, 0, 12]
    assert d.repeat().cardinality() == rt.data.INFINITE_CARDINALITY
    assert d.filter(lambda x: x > 1).cardinality() == rt.data.UNKNOWN_CARDINALITY
    assert len(d.repeat().take(3)) == 3
    with pytest.raises(TypeError, match="The dataset is infinite"):
        len(d.repeat())


def test_shuffle():
    d = Dataset.range(50)
    assert sorted(values(d.shuffle(10))) == list(range(50)) and values(d.shuffle(50)) != list(range(50))
    assert values(d.shuffle(1)) == list(range(50))
    seeded = d.shuffle(50, seed=3)
    first, second = values(seeded), values(seeded)
    assert first != second and values(d.shuffle(50, seed=3)) == first
    fixed = d.shuffle(50, seed=3, reshuffle_each_iteration=False)
    assert values(fixed) == values(fixed)
    assert all(x <= i + 4 for i, x in enumerate(values(d.shuffle(5))))
    assert len(d.shuffle(3)) == 50
    with pytest.raises(rt.errors.InvalidArgumentError, match="a shuffle buffer holds at least 1 element, not 0"):
        d.shuffle(0)


def test_cache_prefetch_and_apply():
    reads = []

    def generate():
        reads.append(1)
        yield from range(3)

    d = Dataset.from_generator(generate, output_signature=rt.TensorSpec([], rt.int32)).cache().prefetch(2)
    assert values(d.take(1)) == [0]
    assert values(d) == [0, 1, 2] == values(d)
    assert len(reads) == 2
    assert values(d.apply(lambda x: x.take(1))) == [0]


def test_it_streams():
    read = []

    def generate():
        for i in range(1000000):
            read.append(i)
            yield i

    d = Dataset.from_generator(generate, output_signature=rt.TensorSpec([], rt.int32))
    assert values(d.map(lambda x: x + 1).batch(2).take(2)) == [[1, 2], [3, 4]]
    assert len(read) <= 5

    @rt.function
    def first_above(limit):
        for x in d:
            if x > limit:
                return x
        return -1

    read.clear()
    assert first_above(rt.constant(10)) == 11 and len(read) == 12


# --- Reading ------------------------------------------------------------------------------------------------


def test_reduce():
    assert Dataset.range(5).reduce(np.int64(0), lambda total, x: total + x) == 10
    pairs = Dataset.zip((Dataset.range(3), Dataset.range(3)))
    start = rt.constant(0, rt.int64), 0
    total, count = pairs.reduce(start, lambda state, xy: (state[0] + xy[0] * xy[1], state[1] + 1))
    assert total == 5 and count == 3

    def largest(best, x):
        if x > best:
            return x
        return best

    assert Dataset.from_tensor_slices([3, 7, 5]).reduce(0, largest) == 7
    assert Dataset.range(0).reduce(3, lambda a, b: a) == 3
    rt.config.run_functions_eagerly(True)
    try:
        assert Dataset.range(5).reduce(np.int64(0), lambda total, x: total + x) == 10
    finally:
        rt.config.run_functions_eagerly(False)


def test_iterators():
    it = iter(Dataset.range(2))
    assert next(it) == 0 and it.get_next() == 1
    with pytest.raises(StopIteration):
        next(it)
    with pytest.raises(rt.errors.OutOfRangeError, match="End of sequence"):
        it.get_next()
    assert next(it, None) is None
    assert it.element_spec == rt.TensorSpec([], rt.int64)


def test_a_for_over_a_dataset_is_one_reduce():
    d = Dataset.from_tensor_slices(([1, 2, 3, 4], [10.0, 20.0, 30.0, 40.0]))

    @rt.function
    def f(data):
        total = 0.0
        for x, y in data:
            if x == 3:
                continue
            total += y
        return total

    assert f(d) == 70.0 and f(d) == 70.0
    (graph,) = [c.graph for c in f.concrete_functions]
    assert [node.op.name for node in graph.nodes if node.subgraphs] == ["reduce"]
    assert f(d.take(1)) == 10.0 and f(d.take(0)) == 0.0


def test_a_dataset_of_tensors_of_the_graph():
    @rt.function
    def f(x, n):
        k = rt.reduce_sum(x)
        total = 0
        for row in Dataset.from_tensor_slices(x).map(lambda v: v + k).take(n):
            total += row
        for i in Dataset.range(n):
            total += rt.cast(i, rt.int32)
        return total

    assert f(rt.constant([1, 2, 3]), rt.constant(2)) == 1 + 6 + 2 + 6 + 0 + 1
    f.concrete_functions[0].graph.verify()


def test_enumerate_and_zip_over_datasets():
    d = Dataset.from_tensor_slices([5, 6, 7])

    @rt.function
    def f(xs):
        total = 0
        for i, x in enumerate(d):
            total += i * x
        for x, y in zip(d, xs):
            total += x * y
        return total

    assert f(rt.constant([1, 2])) == 6 + 14 + 5 + 12


def test_iterators_in_a_graph():
    outside = iter(Dataset.range(10))

    @rt.function
    def f(x):
        it = iter(Dataset.from_tensor_slices(x))
        first = next(it)
        total = 0
        for v in it:
            total += v
        return first, total, next(outside)

    assert [int(v) for v in f(rt.constant([5, 6, 7]))] == [5, 13, 0]
    assert [int(v) for v in f(rt.constant([1, 2, 3]))] == [1, 5, 1]
    assert next(outside) == 2


def test_an_exhausted_iterator_in_a_graph():
    it = iter(Dataset.range(1))

    @rt.function
    def f():
        return next(it)

    assert f() == 0
    with pytest.raises(rt.errors.OutOfRangeError) as info:
        f()
    assert re.fullmatch(rf"{HERE}:\d+: End of sequence\n +\d+ \|         return next\(it\)\n +\^", str(info.value))


def test_nested_loops_over_datasets():
    @rt.function
    def f():
        total = 0
        for x in Dataset.range(3):
            for y in Dataset.range(x + 1):
                total += 1
        return total

    assert f() == 6


def test_a_loop_that_uses_up_an_iterator_is_not_dropped():
    @rt.function
    def f():
        it = iter(Dataset.range(5))
        for x in it:
            if x == 2:
                break
        return next(it)

    assert f() == 3


def test_elements_that_may_not_be_there() -> None:
    numbers = iter(rt.data.Dataset.range(1))
    first, second = numbers.get_next_as_optional(), numbers.get_next_as_optional()
    assert first.has_value().numpy() and first.get_value() == 0 and first.element_spec == rt.TensorSpec([], rt.int64)
    assert not second.has_value().numpy()
    with pytest.raises(rt.errors.InvalidArgumentError, match="does not have a value"):
        second.get_value()


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_elements_that_may_not_be_there_in_graphs(executor: str) -> None:
    def total(numbers):
        found = rt.constant(0, rt.int64)
        element = numbers.get_next_as_optional()
        while element.has_value():
            number, rows = element.get_value()
            found += number + rt.cast(rt.size(rows), rt.int64)
            element = numbers.get_next_as_optional()
        return found

    dataset = rt.data.Dataset.range(4).map(lambda x: (x, rt.fill([x], x)))
    traced = on(executor, total)
    assert total(iter(dataset)) == traced(iter(dataset)) == 12
    assert rt.function(lambda: total(iter(dataset)), executor=executor)() == 12

    def first(numbers):
        for _ in rt.range(3):
            element = numbers.get_next_as_optional()
            if not element.has_value():
                return -1
        return element.get_value()

    assert [int(on(executor, first)(iter(rt.data.Dataset.range(n)))) for n in (2, 5)] == [-1, 2]
    with pytest.raises(rt.errors.InvalidArgumentError, match="does not have a value"):
        rt.function(lambda x: x.get_next_as_optional().get_value(), executor=executor)(iter(rt.data.Dataset.range(0)))


def test_options_have_no_effect() -> None:
    options = rt.data.Options()
    options.deterministic = False
    options.threading.private_threadpool_size = 1
    options.experimental_distribute.auto_shard_policy = None
    dataset = rt.data.Dataset.range(4).with_options(options)
    assert [int(x) for x in dataset] == [0, 1, 2, 3] and int(rt.data.experimental.cardinality(dataset)) == 4
    found = dataset.map(lambda x: x + 1).options()
    assert found.deterministic is False and found.threading.private_threadpool_size == 1
    assert found.experimental_slack is None and rt.data.Dataset.range(1).options().deterministic is None


def test_assert_cardinality() -> None:
    some = rt.data.Dataset.range(10).filter(lambda x: x < 3)
    assert int(some.assert_cardinality(3).cardinality()) == len(list(some.assert_cardinality(3))) == 3
    for count, text in (2, "2 elements, but contains more"), (4, "4 elements, but contains 3"):
        with pytest.raises(rt.errors.FailedPreconditionError, match=f"was expected to contain {text}"):
            list(some.assert_cardinality(count))
    with pytest.raises(rt.errors.FailedPreconditionError, match="infinitely many elements, but contains 10"):
        rt.data.Dataset.range(10).assert_cardinality(rt.data.INFINITE_CARDINALITY)


def test_padding_to_a_length() -> None:
    rows = rt.data.Dataset.range(1, 3).map(lambda x: rt.fill([x], x)).padded_batch(2, padded_shapes=5)
    assert [x.numpy().tolist() for x in rows] == [[[1, 0, 0, 0, 0], [2, 2, 0, 0, 0]]]


def test_functions_that_give_lists_give_tuples() -> None:
    numbers = rt.data.Dataset.range(3)
    assert [(int(a), int(b)) for a, b in numbers.map(lambda x: [x, x + 1])] == [(0, 1), (1, 2), (2, 3)]
    assert [x.numpy().tolist() for x, in numbers.map(lambda x: [[x, x]])] == [[0, 0], [1, 1], [2, 2]]
    assert numbers.map(lambda x: {"a": [x, x]}).element_spec == {"a": rt.TensorSpec([2], rt.int64)}
    zero = rt.constant(0, rt.int64)
    total, count = numbers.reduce((zero, zero), lambda state, x: [state[0] + x, state[1] + 1])
    assert (int(total), int(count)) == (3, 3)
