"""Concrete functions of tensors of unknown rank."""
from __future__ import annotations

from typing import Any

import pytest

import runtime as rt

ANY = rt.TensorSpec(None, rt.float32)


@rt.function
def doubled(x: Any, n: Any = 2) -> Any:
    return x * n


def test_there_is_a_trace_for_each_rank() -> None:
    concrete = doubled.get_concrete_function(ANY)
    assert concrete(rt.constant(1.5)).numpy() == 3
    assert concrete(rt.constant([1.5, 2.0])).numpy().tolist() == [3, 4]
    assert concrete(x=rt.constant([1.0])).numpy().tolist() == [2]
    assert concrete([[1.0]]).numpy().tolist() == [[2]]
    assert concrete.pretty_printed_signature() == (
        "doubled(x: float32 of any rank, n=2)\n"
        "    doubled(x: float32[], n=2) -> float32[]\n"
        "    doubled(x: float32[?], n=2) -> float32[?]\n"
        "    doubled(x: float32[?,?], n=2) -> float32[?,?]")
    assert concrete.structured_input_signature == ((ANY, 2), {})


def test_in_a_traced_function_and_with_gradients() -> None:
    concrete = doubled.get_concrete_function(ANY, 3)

    @rt.function
    def both(x: Any) -> Any:
        return concrete(x), concrete(x[0])

    assert [x.numpy().tolist() for x in both(rt.constant([1.0, 2.0]))] == [[3, 6], 3]
    x = rt.constant([1.0, 2.0])
    with rt.GradientTape() as tape:
        tape.watch(x)
        y = concrete(x)
    assert tape.gradient(y, x).numpy().tolist() == [3, 3]


def test_what_belongs_to_one_graph() -> None:
    concrete = doubled.get_concrete_function(ANY)
    with pytest.raises(rt.errors.ShapeError) as caught:
        concrete.graph
    assert ("doubled was asked for 'graph', which depends on ranks that its TensorSpec leaves unknown: it has a graph"
            " for each, none yet") in str(caught.value)
    concrete(rt.constant([1.0]))
    assert str(concrete.structured_outputs) == str(rt.TensorSpec([None], rt.float32))
    assert concrete.compile().graph is concrete.graph
    concrete(rt.constant(1.0))
    with pytest.raises(rt.errors.ShapeError) as caught:
        concrete.structured_outputs
    assert "it has a graph for each, those for rank 1, rank 0" in str(caught.value)
    assert "or for_arguments(x)." in str(caught.value)
    assert concrete.for_arguments(1.0).structured_outputs.shape.rank == 0


def test_wrong_arguments() -> None:
    concrete = doubled.get_concrete_function(ANY)
    with pytest.raises(TypeError, match="argument 'x' of doubled is int32.*, but this trace takes float32"):
        concrete(rt.constant([1]))
    with pytest.raises(TypeError, match="missing argument 'x'"):
        concrete()
    with pytest.raises(TypeError, match="argument 'n' of doubled is 3, but this trace was made for 2"):
        concrete(rt.constant([1.0]), 3)
    with pytest.raises(TypeError, match=r"float32 of any rank, n=2\): too many"):
        concrete(1.0, 2, 3)


def test_structures_and_an_input_signature() -> None:
    @rt.function(input_signature=[{"a": ANY, "b": [rt.TensorSpec([2], rt.int32)]}, ANY])
    def parts(d: Any, y: Any) -> Any:
        return rt.reduce_sum(d["a"]) + rt.reduce_sum(y) + rt.cast(d["b"][0][1], rt.float32)

    concrete = parts.get_concrete_function()
    assert concrete({"a": rt.constant([[1.0]]), "b": [rt.constant([1, 2])]}, rt.constant(3.0)).numpy() == 6
    assert concrete({"a": rt.constant(1.0), "b": [rt.constant([1, 2])]}, y=rt.constant([3.0])).numpy() == 6
    assert [*concrete.traces] == [(2, 0), (0, 1)]
    with pytest.raises(TypeError, match="argument 'd' of parts does not have the structure"):
        concrete([1.0], 2.0)
    assert parts({"a": 1.0, "b": [[1, 2]]}, 3.0).numpy() == 6


def test_methods() -> None:
    class Model:
        scale = 4.0

        @rt.function
        def scaled(self, x: Any) -> Any:
            return x * self.scale

    model = Model()
    concrete = model.scaled.get_concrete_function(x=ANY)
    assert concrete(rt.constant([1.0])).numpy().tolist() == [4]
    assert concrete(rt.constant(1.0)).numpy() == 4
