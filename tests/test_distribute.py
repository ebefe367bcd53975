"""Programs for several devices, on one."""
from __future__ import annotations

import pytest

import runtime as rt

SUM, MEAN = rt.distribute.ReduceOp.SUM, rt.distribute.ReduceOp.MEAN


def test_strategies_have_one_replica() -> None:
    mirrored = rt.distribute.MirroredStrategy()
    assert mirrored.num_replicas_in_sync == rt.distribute.get_strategy().num_replicas_in_sync == 1
    assert not rt.distribute.has_strategy()
    with mirrored.scope() as entered:
        assert rt.distribute.get_strategy() is entered is mirrored and rt.distribute.has_strategy()
        with rt.distribute.OneDeviceStrategy("/cpu:0").scope():
            assert rt.distribute.get_strategy() is not mirrored
        assert rt.distribute.get_strategy() is mirrored
    assert not rt.distribute.has_strategy()
    for make in (lambda: rt.distribute.MirroredStrategy(["cpu:0", "cpu:1"]),
                 lambda: rt.distribute.OneDeviceStrategy("gpu:0")):
        with pytest.raises(rt.errors.UnimplementedError):
            make()


def test_a_step_runs_and_its_values_are_reduced() -> None:
    strategy = rt.distribute.MirroredStrategy()
    with strategy.scope():
        weight = rt.Variable(2.0)
    dataset = strategy.experimental_distribute_dataset(rt.data.Dataset.range(6).batch(2))

    def step(x):
        loss = rt.nn.compute_average_loss(rt.cast(x, rt.float32) * weight, global_batch_size=2)
        if loss > 5.0:  # staged in a trace
            loss = -loss
        weight.assign_add(1.0)
        return rt.distribute.get_replica_context().all_reduce("sum", loss)

    def total(values):
        weight.assign(2.0)
        found = rt.constant(0.0)
        for x in values:
            found += strategy.reduce(SUM, strategy.run(step, args=(x,)), axis=None)
        return found

    assert total(dataset) == rt.function(total)(dataset) == 1.0 - 7.5 - 18.0


def test_reductions() -> None:
    strategy = rt.distribute.get_strategy()
    x = rt.constant([[1.0, 2.0], [3.0, 4.0]])
    assert strategy.reduce("SUM", x, axis=0).numpy().tolist() == [4, 6]
    assert strategy.reduce(MEAN, {"x": x}, axis=1)["x"].numpy().tolist() == [1.5, 3.5]
    assert strategy.reduce(MEAN, x, axis=None) is x and strategy.experimental_local_results(x) == (x,)
    assert strategy.gather(x, 0) is x
    with pytest.raises(ValueError, match="a reduction is SUM or MEAN, not 'max'"):
        strategy.reduce("max", x, axis=None)
    context = strategy.run(rt.distribute.get_replica_context)
    assert (context.replica_id_in_sync_group, context.num_replicas_in_sync) == (0, 1)
    assert context.merge_call(lambda merged, y: (merged is strategy, y), (3,)) == (True, 3)


def test_datasets_of_functions() -> None:
    def make(context):
        size = context.get_per_replica_batch_size(4)
        return rt.data.Dataset.range(8).shard(context.num_input_pipelines, context.input_pipeline_id).batch(size)

    found = rt.distribute.get_strategy().distribute_datasets_from_function(make)
    assert [x.numpy().tolist() for x in found] == [[0, 1, 2, 3], [4, 5, 6, 7]]
