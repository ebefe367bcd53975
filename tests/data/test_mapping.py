"""Datasets of what functions give: datasets of datasets, threads, state, and errors that name the element."""
from __future__ import annotations

import re
import threading
import time
from typing import Any

import numpy as np
import pytest

import runtime as rt

Dataset = rt.data.Dataset


def values(dataset):
    return [rt.nest.map_structure(lambda x: x.tolist(), element) for element in dataset.as_numpy_iterator()]


def test_flat_map():
    d = Dataset.range(1, 4).flat_map(lambda n: Dataset.range(n))
    assert values(d) == [0, 0, 1, 0, 1, 2] == values(d)
    k = rt.constant(10, rt.int64)
    pairs = Dataset.from_tensor_slices(([1, 2], [[1.0, 2.0], [3.0, 4.0]]))
    made = pairs.flat_map(lambda n, row: Dataset.from_tensor_slices({"x": row * 2.0}).map(lambda d: (d["x"], k)))
    assert values(made) == [(2.0, 10), (4.0, 10), (6.0, 10), (8.0, 10)]
    assert made.element_spec == (rt.TensorSpec([], rt.float32), rt.TensorSpec([], rt.int64))
    assert values(Dataset.range(3).map(lambda n: Dataset.range(n)).flat_map(lambda d: d.batch(2))) == [[0], [0, 1]]
    with pytest.raises(TypeError, match="the function of flat_map gives a dataset, but <lambda> gives TensorSpec"):
        Dataset.range(3).flat_map(lambda n: n)


def test_a_function_with_control_flow_gives_a_dataset():
    def upto(n):
        if n % 2 == 0:
            size = n
        else:
            size = n * 0
        return Dataset.range(size)

    assert values(Dataset.range(5).flat_map(upto)) == [0, 1, 0, 1, 2, 3]


def test_interleave():
    made = Dataset.range(1, 6).interleave(lambda x: Dataset.from_tensors(x).repeat(6), cycle_length=2, block_length=4)
    expected = [1] * 4 + [2] * 4 + [1, 1, 2, 2] + [3] * 4 + [4] * 4 + [3, 3, 4, 4] + [5] * 6
    assert values(made) == expected
    ahead = Dataset.range(1, 6).interleave(
        lambda x: Dataset.from_tensors(x).repeat(6), cycle_length=2, block_length=4, num_parallel_calls=2)
    assert values(ahead) == expected
    assert values(Dataset.range(0).interleave(lambda x: Dataset.range(3), cycle_length=3)) == []
    with pytest.raises(rt.errors.InvalidArgumentError, match="at least 1, not 0 and 1"):
        Dataset.range(2).interleave(lambda x: Dataset.range(2), cycle_length=0)


@pytest.mark.parametrize(("first", "change", "expected"), [
    ([1.0, 1.0], lambda x: rt.concat([x, x], 0), [2.0, 4.0, 8.0]),
    ([1.0, 2.0, 3.0], lambda x: rt.boolean_mask(x, x > 1.0) - 1.0, [6.0, 3.0, 1.0]),
    ([1.0, 1.0], lambda x: x + 1.0, [2.0, 4.0, 6.0])], ids=["grows", "shrinks", "keeps its size"])
def test_a_scan_whose_state_changes_its_size(first, change, expected):
    states = rt.data.Dataset.range(3).scan(first, lambda state, _: (change(state), state))
    assert [float(rt.reduce_sum(state)) for state in states] == expected


def test_scan_and_unique():
    d = Dataset.range(1, 5).scan(initial_state=rt.constant(0, rt.int64), scan_func=lambda s, x: (s + x, (s, x)))
    assert values(d) == [(0, 1), (1, 2), (3, 3), (6, 4)] and len(d) == 4
    with pytest.raises(TypeError, match=r"the state of scan is int64\[\] before, but float32\[\] after"):
        Dataset.range(3).scan(rt.constant(0, rt.int64), lambda s, x: (1.5, x))
    with pytest.raises(TypeError, match="the function of scan gives a pair"):
        Dataset.range(3).scan(rt.constant(0, rt.int64), lambda s, x: s)
    assert values(Dataset.from_tensor_slices([3, 1, 3, 2, 1]).unique()) == [3, 1, 2]


@pytest.mark.parametrize("threads", [None, 2, rt.data.AUTOTUNE])
def test_map_in_threads_keeps_the_order(threads):
    def step(x):
        total = x * 0
        while total < 20000 * (3 - x % 3):
            total += 1
        return x

    assert values(Dataset.range(20).map(step, num_parallel_calls=threads)) == list(range(20))
    unordered = Dataset.range(20).map(step, num_parallel_calls=2, deterministic=False)
    assert sorted(values(unordered)) == list(range(20))


def test_errors_of_map_name_the_element_and_the_line():
    def inverse(x):
        return 12 // x

    line = inverse.__code__.co_firstlineno + 1
    for threads in (None, 2):
        d = Dataset.from_tensor_slices([1, 2, 0, 4]).map(inverse, num_parallel_calls=threads)
        stream = iter(d)
        assert [int(next(stream)), int(next(stream))] == [12, 6]
        with pytest.raises(ZeroDivisionError) as caught:
            next(stream)
        assert re.search(rf"{re.escape(__file__)}:{line}:", str(caught.value))
        assert "while inverse was applied to element 2 of a dataset" in str(caught.value)
    with pytest.raises(rt.errors.InvalidArgumentError, match="at least 1, or AUTOTUNE, not 0"):
        Dataset.range(3).map(inverse, num_parallel_calls=0)


def prefetching():
    return [thread for thread in threading.enumerate() if thread.name == "runtime.data.prefetch"]


def test_prefetch_reads_ahead_and_its_thread_ends():
    reads = []

    def generate():
        for i in range(100):
            reads.append(i)
            yield i

    source = Dataset.from_generator(generate, output_signature=rt.TensorSpec([], rt.int32))
    stream = iter(source.prefetch(3))
    assert int(next(stream)) == 0
    end = time.monotonic() + 10
    while len(reads) < 4 and time.monotonic() < end:
        time.sleep(0.001)
    assert len(reads) == 4  # one used, three ready
    assert len(prefetching()) == 1
    del stream
    while prefetching() and time.monotonic() < end:
        time.sleep(0.001)
    assert not prefetching()
    assert values(source.prefetch(rt.data.AUTOTUNE)) == list(range(100)) == values(source.prefetch(0))


def test_what_a_thread_raises_comes_in_its_place():
    def generate():
        yield 1
        raise KeyError("no more")

    stream = iter(Dataset.from_generator(generate, output_signature=rt.TensorSpec([], rt.int32)).prefetch(2))
    assert int(next(stream)) == 1
    with pytest.raises(KeyError, match="no more"):
        next(stream)
    with pytest.raises(rt.errors.InvalidArgumentError, match="at least 0 elements, not -2"):
        Dataset.range(2).prefetch(-2)


def test_threads_and_datasets_of_datasets_in_traced_functions():
    made = Dataset.range(10).window(3).flat_map(lambda w: w.batch(3)).map(
        lambda x: rt.reduce_sum(x), num_parallel_calls=2).prefetch(2)

    @rt.function
    def total():
        s = rt.constant(0, rt.int64)
        for x in made:
            if x > 3:
                s += x
        return s

    assert int(total()) == 42

    @rt.function
    def nested(windows):
        s = rt.constant(0, rt.int64)
        for w in windows:
            s += 1
        return s

    with pytest.raises(TypeError, match="a loop over a dataset of datasets cannot be traced") as caught:
        nested(Dataset.range(4).window(2))
    assert "flat_map" in str(caught.value)


def test_choosing_and_sampling():
    parts = [Dataset.from_tensors(k).repeat(3) for k in range(3)]
    choice = Dataset.from_tensor_slices(np.array([2, 0, 0, 1, 2, 0, 0, 1]))
    assert values(Dataset.choose_from_datasets(parts, choice)) == [2, 0, 0, 1, 2, 0]
    assert values(Dataset.choose_from_datasets(parts, choice, stop_on_empty_dataset=False)) == [2, 0, 0, 1, 2, 0, 1]
    with pytest.raises(rt.errors.InvalidArgumentError, match="and none of number 7"):
        values(Dataset.choose_from_datasets(parts, Dataset.from_tensors(np.int64(7))))
    drawn = values(Dataset.sample_from_datasets([d.repeat() for d in parts], [0.5, 0.5, 0.0], seed=1).take(400))
    assert 2 not in drawn and 150 < drawn.count(0) < 250
    assert sorted(values(Dataset.sample_from_datasets(parts, seed=2))) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    again = Dataset.sample_from_datasets(parts, seed=2, rerandomize_each_iteration=False)
    assert values(again) == values(again)
    with pytest.raises(ValueError, match="a weight of 0 or more for each of 3 datasets"):
        Dataset.sample_from_datasets(parts, [1.0])
    numbers = Dataset.random(seed=4).take(3)
    assert values(numbers) == values(numbers) and all(0 <= x < 2 ** 32 for x in values(numbers))


def test_single_elements():
    assert int(Dataset.from_tensors(3).get_single_element()) == 3
    for d, what in ((Dataset.range(0), "none"), (Dataset.range(2), "more")):
        with pytest.raises(rt.errors.InvalidArgumentError, match=f"of one element, not of {what}"):
            d.get_single_element()


def test_counter() -> None:
    counted = rt.data.Dataset.counter(5, -2, rt.int32)
    assert [int(x) for x in counted.take(3)] == [5, 3, 1] and counted.element_spec.dtype == rt.int32
    assert counted.cardinality() == rt.data.INFINITE_CARDINALITY


@pytest.mark.parametrize("initial", [None, [0.9, 0.1]])
def test_rejection_resample(initial: Any) -> None:
    def kind(label: Any, number: Any) -> Any:
        if label > 0:
            return 1
        return 0

    both = rt.data.Dataset.from_tensor_slices(([0] * 900 + [3] * 100, np.arange(1000))).shuffle(1000, 1)
    drawn = both.rejection_resample(kind, [0.5, 0.5], initial, seed=3)
    assert [spec.shape for spec in rt.nest.flatten(drawn.element_spec)] == [[], [], []]
    found = [(int(label), int(number)) for label, (_, number) in drawn]
    assert len(found) > 80 and all(label == (number >= 900) for label, number in found)
    assert 0.4 < np.mean([label for label, _ in found]) < 0.6
    assert found != [(int(label), int(number)) for label, (_, number) in drawn]


def test_rejection_resample_of_single_values_and_errors() -> None:
    numbers = rt.data.Dataset.range(6)
    odd = numbers.rejection_resample(lambda x: x % 2, [0.0, 1.0], [0.5, 0.5])
    assert [(int(a), int(b)) for a, b in odd] == [(1, 1), (1, 3), (1, 5)]
    for target, initial in (([[1.0]], None), ([0.5, 0.5], [1.0]), ([0.5, 0.5], [1.0, 0.0])):
        with pytest.raises(ValueError, match="a probability for each class"):
            numbers.rejection_resample(lambda x: x, target, initial)
    with pytest.raises(rt.errors.InvalidArgumentError, match="class_func gave 2, but target_dist has 2 classes"):
        list(numbers.rejection_resample(lambda x: x, [0.5, 0.5]))


def test_a_function_that_always_raises() -> None:
    def check(x: Any) -> Any:
        if x > 1:
            raise ValueError("above")
        raise KeyError("not above")

    for method in "map", "filter", "flat_map", "take_while":
        with pytest.raises(rt.errors.StagingError, match="check raises for every element, so the type of its results"):
            getattr(Dataset.range(3), method)(check)


def test_ignore_errors() -> None:
    numbers = Dataset.from_tensor_slices([1.0, 2.0, 0.0, 4.0, 0.0, 5.0])

    def inverse(x: Any) -> Any:
        return rt.debugging.check_numerics(1.0 / x, "inverse")

    for threads in None, 3, rt.data.AUTOTUNE:
        inverses = numbers.repeat(3).map(inverse, num_parallel_calls=threads)
        found = inverses.map(lambda x: 2 * x, num_parallel_calls=threads).filter(lambda x: x < 2).ignore_errors()
        assert values(found) == 3 * [1, 0.5, np.float32(0.4)]
    by_apply = numbers.map(inverse).apply(rt.data.experimental.ignore_errors())
    assert values(by_apply.batch(4)) == [[1, 0.5, 0.25, np.float32(0.2)]]
    for ended in numbers.map(inverse).batch(2), numbers.map(inverse).prefetch(1), numbers.map(inverse).repeat():
        with pytest.raises(rt.errors.UnimplementedError, match="a transformation that ends with it, such as batch"):
            values(ended.ignore_errors().take(5))
    assert values(numbers.batch(2).map(rt.identity).ignore_errors()) == [[1, 2], [0, 4], [0, 5]]


def test_ignored_errors_are_written(capsys: Any) -> None:
    inverses = Dataset.from_tensor_slices([0, 2]).map(lambda x: 6 // x)
    assert values(inverses.ignore_errors(log_warning=True)) == [3]
    assert "Error raised with error message" in capsys.readouterr().err


def test_a_sparse_tensor_is_an_element_as_its_parts():
    example = rt.train.Example(features=rt.train.Features(feature={
        "v": rt.train.Feature(int64_list=rt.train.Int64List(value=[4, 5]))})).SerializeToString()

    def parsed(record):
        return rt.io.parse_single_example(record, {"v": rt.io.VarLenFeature(rt.int64)})

    def parts(record):
        x = parsed(record)["v"]
        return x.indices, x.values, x.dense_shape

    records = Dataset.from_tensors(example)
    [found] = records.map(parts)
    assert rt.sparse.to_dense(rt.SparseTensor(*found)).numpy().tolist() == [4, 5]
    assert values(records.map(lambda record: rt.sparse.to_dense(parsed(record)["v"]))) == [[4, 5]]
    for make in (lambda: records.map(parsed), lambda: Dataset.from_tensor_slices(parsed(example)["v"])):
        with pytest.raises(rt.errors.UnimplementedError, match="(?s)test_mapping.py.*a SparseTensor is no element of a "
                                                               "dataset.*Give rt.sparse.to_dense"):
            make()
