"""Random numbers: seeds, program order, distributions."""
from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.backends.numpy import run
from runtime.core.graph import Graph
from runtime.core.trace import add_input, set_outputs, tracing
from runtime.core.types import TensorType


def test_seeds_start_the_numbers_again() -> None:
    rt.random.set_seed(1)
    first = [rt.random.normal([3]), rt.random.uniform([2], seed=5)]
    rt.random.set_seed(1)
    again = [rt.random.normal([3]), rt.random.uniform([2], seed=5)]
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(rt.random.normal([3]), first[0])


def test_a_graph_draws_anew_each_time() -> None:
    graph = Graph("random")
    with tracing(graph):
        n = add_input(graph, TensorType(rt.int32), "n")
        set_outputs(graph, [rt.random.uniform([n, 2], 3, 5)])
    graph.verify()
    assert graph.effect
    first, second = run(graph, [np.int32(3)])[0], run(graph, [np.int32(3)])[0]
    assert first.shape == (3, 2)
    assert not np.array_equal(first, second)
    assert ((first >= 3) & (first < 5)).all()


def test_distributions() -> None:
    rt.random.set_seed(0)
    x = rt.random.normal([20000], 2.0, 3.0).numpy()
    assert abs(x.mean() - 2) < 0.1
    assert abs(x.std() - 3) < 0.1
    i = rt.random.uniform([1000], 1, 4, rt.int32).numpy()
    assert set(i.tolist()) == {1, 2, 3}
    z = rt.random.truncated_normal([5000]).numpy()
    assert 1.9 < np.abs(z).max() < 2.001
    assert abs(z.std() - 0.88) < 0.03
    classes = rt.random.categorical([[0.0, math.log(3.0)]], 4000).numpy()
    assert abs(classes.mean() - 0.75) < 0.03
    shuffled = rt.random.shuffle(rt.range(10)).numpy()
    assert sorted(shuffled.tolist()) == list(range(10))
    kept = rt.nn.dropout(rt.ones([10000]), 0.25).numpy()
    assert abs((kept != 0).mean() - 0.75) < 0.02
    assert set(kept.tolist()) == {0.0, float(np.float32(1) / np.float32(0.75))}


def test_stateless_numbers_depend_on_the_seed_alone() -> None:
    a, b, c = (rt.random.stateless_normal([4], seed).numpy() for seed in ([1, 2], [1, 2], [1, 3]))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_stateless_ints() -> None:
    a = rt.random.stateless_uniform([1000], [1, 2], -3, 4, rt.int32).numpy()
    assert a.dtype == np.int32
    assert set(a.tolist()) == set(range(-3, 4))
    np.testing.assert_array_equal(a, rt.random.stateless_uniform([1000], [1, 2], -3, 4, rt.int32))
    with pytest.raises(ValueError, match="Must specify maxval for integer dtype"):
        rt.random.stateless_uniform([3], [1, 2], dtype=rt.int32)
    with pytest.raises(rt.errors.InvalidArgumentError, match="a minval less than maxval, not 4 and 4"):
        rt.random.stateless_uniform([3], [1, 2], 4, 4, rt.int64)


def test_a_generator_has_a_state_of_its_own() -> None:
    one, two = rt.random.Generator.from_seed(7), rt.random.Generator.from_seed(7)
    np.testing.assert_array_equal(one.normal([3]), two.normal([3]))
    assert not np.array_equal(one.uniform([3]), one.uniform([3]))
    one.reset_from_seed(7)
    np.testing.assert_array_equal(one.normal([3]), rt.random.Generator.from_seed(7).normal([3]))


def test_copies_of_a_generator_draw_the_same_numbers() -> None:
    one = rt.random.Generator.from_seed(7)
    one.uniform([3])
    copies = [copy.deepcopy(one), pickle.loads(pickle.dumps(one))]
    want = one.normal([3]).numpy()
    for other in copies:
        np.testing.assert_array_equal(other.normal([3]), want)


def test_generators_have_states_as_in_tensorflow() -> None:
    one = rt.random.Generator.from_seed(7, alg="philox")
    one.uniform([3])
    state = one.state
    assert state.numpy().tolist() == [7 + 3 * 256, 0, 0] and state.dtype is rt.int64 and one.algorithm == 1
    others = [rt.random.Generator(copy_from=one), rt.random.Generator(state=state, alg="auto_select"),
              rt.random.Generator.from_key_counter(one.key, state[:2], "philox"), rt.random.Generator.from_seed(1)]
    others[-1].reset(state)
    assert [other.algorithm for other in others] == [1, 1, 1, 1]
    want = one.truncated_normal([5]).numpy()
    for other in others:
        assert (other.state == state).numpy().all() and other.key == one.key
        np.testing.assert_array_equal(other.truncated_normal([5]), want)
        assert (other.state == one.state).numpy().all()
    seeded = [rt.random.Generator.from_state(words, rt.random.Algorithm.PHILOX).normal([2]).numpy().tolist()
              for words in ([1, 2, 3], [1, 2, 3], [1, 2, -4])]
    assert seeded[0] == seeded[1] and len({*map(tuple, seeded)}) == 2
    assert rt.random.Generator.from_seed(5, "threefry").state.numpy().tolist() == [5, 0]
    assert [rt.random.create_rng_state(seed, "philox").numpy().tolist() for seed in (2**70 + 3, -5, [8, 9])] == [
        [3, 64, 0], [-5, -1, -1], [0, 8, 9]]
    assert rt.random.Generator().normal([]) != rt.random.Generator.from_non_deterministic_state(alg=2).normal([])


def test_a_generator_splits() -> None:
    def draws():
        one = rt.random.Generator.from_seed(3)
        return [g.normal([2]).numpy().tolist() for g in (*one.split(2), *one.split(count=1), one)]

    assert draws() == draws() and len({*map(tuple, draws())}) == 4
    with pytest.raises(ValueError, match="at least 1 generator, not 0"):
        rt.random.Generator.from_seed(3).split(0)


def test_what_generators_refuse() -> None:
    one = rt.random.Generator.from_seed(3)
    for error, text, call in (
            (TypeError, r"not 7: Generator.from_seed takes a seed", lambda: rt.random.Generator(7)),
            (ValueError, "either copy_from, or", lambda: rt.random.Generator(one, [1, 2, 3])),
            (ValueError, "'threefry' or 'auto_select', not 'x'", lambda: rt.random.Generator.from_seed(1, "x")),
            (ValueError, "not 9", lambda: rt.random.stateless_normal([1], [1, 2], alg=9)),
            (rt.errors.ShapeError, r"algorithm is 3 ints, not a tensor of int32\[4\]", lambda: one.reset([1] * 4))):
        with pytest.raises(error, match=text):
            call()
    for use in (lambda: one.split(1), lambda: one.reset([1, 2, 3]), lambda: one.reset_from_seed(1)):
        with pytest.raises(rt.errors.FailedPreconditionError, match="belongs outside of traced functions"):
            rt.function(use)()


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("alg", ["philox", "threefry"])
def test_the_state_in_a_function_is_that_of_each_run(alg: str, executor: str) -> None:
    one, other = (rt.random.Generator.from_seed(123, alg) for _ in range(2))

    def states(generator):
        before = generator.state
        generator.normal([2])
        return before, generator.key, generator.state

    traced = rt.function(lambda: states(one), executor=executor)
    for _ in range(2):
        for found, expected in zip(traced(), states(other), strict=True):
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(one.state, other.state)
    if alg == "philox":
        assert one.state.numpy().tolist() == [1147, 0, 0]  # TensorFlow 2.21


def test_the_global_generator() -> None:
    first = rt.random.get_global_generator()
    assert rt.random.get_global_generator() is first
    rt.random.set_global_generator(rt.random.Generator.from_seed(5))
    try:
        found = rt.random.get_global_generator().normal([3])
        np.testing.assert_array_equal(found, rt.random.Generator.from_seed(5).normal([3]))
    finally:
        rt.random.set_global_generator(first)


@pytest.mark.parametrize("alg", ["philox", "threefry", "auto_select", rt.random.Algorithm.PHILOX, 2])
def test_stateless_numbers_take_an_algorithm(alg) -> None:
    for draw in rt.random.stateless_uniform, rt.random.stateless_normal, rt.random.stateless_truncated_normal:
        np.testing.assert_array_equal(draw([3], [1, 2], alg=alg), draw([3], [1, 2]))


def test_seeds_of_a_generator():
    one, other = rt.random.Generator.from_seed(7), rt.random.Generator.from_seed(7)
    seeds = one.make_seeds(3)
    assert seeds.dtype is rt.int64 and seeds.shape == (2, 3)
    np.testing.assert_array_equal(seeds, rt.function(lambda: other.make_seeds(3))())
    assert rt.random.stateless_uniform([2], seeds[:, 0]).shape == (2,)
    assert (one.make_seeds(3)[0] != seeds[0]).numpy().all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_ints_of_the_whole_range(dtype: str) -> None:
    info = np.iinfo(dtype)
    generator = rt.random.Generator.from_seed(1)
    for draw in (lambda n: rt.random.uniform([n], None, None, dtype, seed=1),
                 lambda n: rt.random.stateless_uniform([n], (1, 2), None, None, dtype),
                 lambda n: generator.uniform([n], None, None, dtype)):
        for found in draw(4000), rt.function(draw)(rt.constant(4000)):
            x = found.numpy()
            assert x.dtype == dtype
            for edge in info.min, info.max:  # every 256th of the range is hit
                assert min(abs(int(x.min()) - edge), abs(int(x.max()) - edge)) < (info.max - info.min) / 256 + 1
            assert x.dtype.itemsize == 1 or len(np.unique(x & np.asarray(255).astype(x.dtype))) == 256
    stateless = [rt.random.stateless_uniform([3], (1, k), None, None, dtype).numpy().tolist() for k in (1, 1, 2)]
    assert stateless[0] == stateless[1] != stateless[2]


def test_distributions_of_numpy() -> None:
    def gammas(n: Any) -> Any:
        return rt.random.gamma([n], [1.0, 5.0], [1.0, 2.0])

    def poissons(n: Any) -> Any:
        return rt.random.poisson([n], [[3.0], [0.0]], rt.int32)

    for way in (lambda f: f), rt.function:
        rt.random.set_seed(1)
        found = [way(f)(rt.constant(20000)) for f in (gammas, poissons)]
        assert [(x.shape.as_list(), x.dtype) for x in found] == [
            ([20000, 2], rt.float32), ([20000, 2, 1], rt.int32)]
        np.testing.assert_allclose(np.mean(found[0], 0), [1.0, 2.5], rtol=0.03)
        np.testing.assert_allclose(np.var(found[0], 0), [1.0, 1.25], rtol=0.1)
        np.testing.assert_allclose(np.mean(found[1], 0), [[3.0], [0.0]], rtol=0.03)
        rt.random.set_seed(1)
        np.testing.assert_array_equal(way(gammas)(rt.constant(20000)), found[0])
    assert rt.random.gamma([2], 3.0, seed=4).dtype == rt.float32
    for wrong in (lambda: rt.random.gamma([2], 0.0)), (lambda: rt.random.poisson([2], -1.0)):
        with pytest.raises(rt.errors.InvalidArgumentError, match=r"takes a parameter that is not negative"):
            wrong()
