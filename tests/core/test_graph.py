"""Graphs: tracing by hand, captures, text, verification, pruning, and the reference executor."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from runtime.backends.numpy import compile_graph, executable, run
from runtime.core import types as t
from runtime.core.graph import Graph, Value
from runtime.core.op import CAST, Op
from runtime.core.pruning import prune
from runtime.core.tensor import EagerList, EagerTensor, GraphList, Tensor
from runtime.core.trace import add_input, apply, convert_to_tensor, current_graph, hint, set_outputs, tracing
from runtime.core.types import ListType, TensorType
from runtime.errors import DivisionByZeroError, GraphError
from runtime.ops import math
from runtime.ops.families import OPS as REGISTRY

INT = TensorType(t.int32)
VEC = TensorType(t.float32, (None,))


def _while(*state: Any, test: Any, body: Any) -> Any:
    while test(*state)[0]:
        state = tuple(body(*state))
    return state


@pytest.fixture(scope="module", autouse=True)
def ops() -> Iterator[dict[str, Op]]:
    """Ops of this test alone, out of the registry afterwards."""
    before = set(REGISTRY)

    def fail(x: Any) -> Any:
        raise DivisionByZeroError("a division by zero", remedy="Check the divisor.")

    def foreign(x: Any) -> Any:
        raise ValueError("the user's own")

    made = [
        Op("test_while", _while, lambda *types, test, body: tuple(v.type for v in body.outputs)),
        Op("test_note", lambda x, log: log.append(int(x)), lambda x, log: (), effect=True),
        Op("test_divmod", lambda x, y: (x // y, x % y), lambda x, y: (x, y), agree=slice(0, 2)),
        Op("test_fail", fail, lambda x: x),
        Op("test_foreign", foreign, lambda x: x, foreign=True),
        Op("test_append", lambda items, x: (*items, x), lambda items, x: items),
        Op("test_length", lambda items: np.int32(len(items)), lambda items: INT),
    ]
    yield {op.name.removeprefix("test_"): op for op in made}
    for name in set(REGISTRY) - before:
        del REGISTRY[name]


def loop(ops: dict[str, Op], scale: EagerTensor, vector: TensorType = VEC) -> Graph:
    """while i < n: i, a = i + 1, a * scale + x"""
    graph = Graph("f")
    with tracing(graph):
        x, n = add_input(graph, vector, "x"), add_input(graph, INT, "n")
        test, body = Graph("test", graph), Graph("body", graph)
        with tracing(test):
            i, _ = add_input(test, INT, "i"), add_input(test, vector, "a")
            set_outputs(test, [i < n])
        with tracing(body):
            i, a = add_input(body, INT, "i"), add_input(body, vector, "a")
            set_outputs(body, [i + 1, a * scale + x])
        i, a = apply(ops["while"], convert_to_tensor(0), x, test=test, body=body)
        hint(i, "i")
        hint(a, "a")
        _ = a - 1
        set_outputs(graph, [a, i])
    return graph


LOOP = """\
graph f(x: float32[?], n: int32[]; %1: float32[]) -> (float32[?], int32[]) {
  i, a = test_while(0, x; n, %1, x) {
    test(i: int32[], a: float32[?]; n: int32[]) -> (bool[]) {
      %1 = less(i, n) : bool[]
      return %1
    }
    body(i: int32[], a: float32[?]; %1: float32[], x: float32[?]) -> (int32[], float32[?]) {
      %2 = add(i, 1) : int32[]
      %3 = multiply(a, %1) : float32[?]
      %4 = add(%3, x) : float32[?]
      return %2, %4
    }
  }
  return a, i
}"""


def test_loop(ops: dict[str, Op]) -> None:
    graph = loop(ops, EagerTensor(np.float32(10)))
    graph.verify()
    nodes = [node.op.name for node in graph.walk()]
    prune(graph)
    left = [node.op.name for node in graph.walk()]
    assert sorted((Counter(nodes) - Counter(left)).elements()) == ["const", "subtract"]
    graph.verify()
    assert str(graph) == LOOP
    assert current_graph() is None and [node.op.name for node in graph.walk()].count("add") == 2
    a, i = run(graph, [np.ones(3, np.float32), np.int32(3)])
    assert a.tolist() == [1111.0] * 3 and i == 3 and isinstance(i, np.ndarray) and not a.flags.writeable


def test_nested_captures_are_threaded(ops: dict[str, Op]) -> None:
    graph = Graph("f")
    with tracing(graph):
        n = add_input(graph, INT, "n")
        outer_test, outer_body = Graph("test", graph), Graph("body", graph)
        with tracing(outer_test):
            set_outputs(outer_test, [add_input(outer_test, INT, "i") < n])
        with tracing(outer_body):
            i = add_input(outer_body, INT, "i")
            test, body = Graph("test", outer_body), Graph("body", outer_body)
            with tracing(test):
                set_outputs(test, [add_input(test, INT, "j") < n])
            with tracing(body):
                set_outputs(body, [add_input(body, INT, "j") + 1])
            (j,) = apply(ops["while"], i, test=test, body=body)
            set_outputs(outer_body, [j])
        (i,) = apply(ops["while"], n - n, test=outer_test, body=outer_body)
        set_outputs(graph, [i])
    graph.verify()
    assert len(outer_body.captures) == 1 and outer_body.captures[0][0] is n.value
    assert test.captures[0][0] is outer_body.captures[0][1]
    assert run(graph, [np.int32(5)])[0] == 5


@pytest.mark.parametrize(("vector", "nodes", "captures"), [(TensorType(t.float32, (3,)), 2, 0), (VEC, 4, 2)])
def test_unused_captures_are_pruned(
    ops: dict[str, Op], vector: TensorType, nodes: int, captures: int,
) -> None:
    """With those of what cannot raise: of vectors of unknown length the lengths may differ."""
    graph = loop(ops, EagerTensor(np.float32(10)), vector)
    body = graph.nodes[1].params["body"]
    with tracing(body):
        set_outputs(body, [*(Tensor_of(v) for v in body.outputs[:1]), Tensor_of(body.inputs[1])])
    prune(graph)
    graph.verify()
    assert len(body.nodes) == nodes and len(body.captures) == captures
    assert run(graph, [np.ones(3, np.float32), np.int32(3)])[1] == 3


def Tensor_of(value: Value) -> Any:
    from_graph = add_input(Graph("none"), value.type)
    return type(from_graph)(value)


def test_scalar_constants_are_made_again_not_captured(ops: dict[str, Op]) -> None:
    graph = Graph("f")
    with tracing(graph):
        one = convert_to_tensor(1)
        inner = Graph("inner", graph)
        with tracing(inner):
            set_outputs(inner, [add_input(inner, INT) + one + one])
    assert not inner.captures and [node.op.name for node in inner.nodes] == ["const", "add", "add"]


def test_weak_constants_adapt_in_graphs() -> None:
    graph = Graph("f")
    with tracing(graph):
        weak = math.add(1, 2)
        assert weak.type == TensorType(t.int32, (), weak=True)
        x = add_input(graph, TensorType(t.float16, (2,)), "x")
        y = x * weak
        assert y.type == x.type and (x + 1.5).type == x.type and math.add(weak, 0.5).type.weak
        assert math.less(weak, 3).type == TensorType(t.bool_)
        set_outputs(graph, [y])
    graph.verify()
    assert run(graph, [np.ones(2, np.float16)])[0].dtype == np.float16


def test_text_of_constants_and_params() -> None:
    graph = Graph("f")
    with tracing(graph):
        x = add_input(graph, INT, "x")
        convert_to_tensor(3, name="three")
        small, big = convert_to_tensor([1, 2]), convert_to_tensor(np.zeros((5, 5)))
        y = apply(CAST, x, dtype=t.float64)
        set_outputs(graph, [small, big, y, x, x + x])
    hint(y, "x")
    assert str(graph) == """\
graph f(x: int32[]) -> (int32[2], float64[5,5], float64[], int32[], int32[]) {
  three = const 3 : int32[]
  %1 = const [1, 2] : int32[2]
  %2 = const <25 elements> : float64[5,5]
  x_1 = cast(x, dtype=float64) : float64[]
  %3 = add(x, x) : int32[]
  return %1, %2, x_1, x, %3
}"""
    assert repr(graph) == "<graph f: 1 inputs, 5 nodes, 5 outputs>"


def test_effects_stay_in_order(ops: dict[str, Op]) -> None:
    graph, log = Graph("f"), list[int]()
    with tracing(graph):
        x = add_input(graph, INT, "x")
        assert apply(ops["note"], x, log=log) == ()
        y = x + 1
        apply(ops["note"], y, log=log)
        set_outputs(graph, [])
    nodes = list(graph.walk())
    prune(graph)
    assert list(graph.walk()) == nodes and graph.effect
    assert run(graph, [np.int32(1)]) == () and log == [1, 2]


def test_several_results(ops: dict[str, Op]) -> None:
    graph = Graph("f")
    with tracing(graph):
        x = add_input(graph, INT, "x")
        q, r = apply(ops["divmod"], x, 3)
        set_outputs(graph, [r, q + r, x, x])
    graph.verify()
    assert [int(v) for v in run(graph, [np.int32(11)])] == [2, 5, 11, 11]
    assert [int(v) for v in apply(ops["divmod"], np.int32(11), 3)] == [3, 2]


def test_lists(ops: dict[str, Op]) -> None:
    graph, kind = Graph("f"), ListType(INT)
    with tracing(graph):
        items, x = add_input(graph, kind, "items"), add_input(graph, INT, "x")
        assert isinstance(items, GraphList) and items.type == kind
        longer = apply(ops["append"], items, x)
        set_outputs(graph, [longer, apply(ops["length"], longer)])
    graph.verify()
    result, length = run(graph, [(), np.int32(4)])
    assert result == (4,) and length == 1
    eager = apply(ops["append"], EagerList((), kind), 4)
    assert isinstance(eager, EagerList) and len(eager.items) == 1
    assert int(apply(ops["length"], eager)) == 1


def test_slots_are_used_again() -> None:
    graph = Graph("f")
    with tracing(graph):
        x = add_input(graph, INT, "x")
        y = x
        for _ in range(50):
            y = y + x
        set_outputs(graph, [y])
    assert len(compile_graph(graph).template) <= 2
    assert run(graph, [np.int32(2)])[0] == 102


def test_run_error_has_the_users_line(ops: dict[str, Op]) -> None:
    graph = Graph("f")
    with tracing(graph):
        x = add_input(graph, INT, "x")
        set_outputs(graph, [apply(ops["fail"], x)])
    with pytest.raises(ZeroDivisionError) as info:
        run(graph, [np.int32(1)])
    assert isinstance(info.value, DivisionByZeroError)
    lines = str(info.value).split("\n")
    position = graph.nodes[0].position
    assert position is not None and position.function == info.traceback[0].name
    assert lines[0] == f"{__file__}:{position.lineno}: a division by zero"
    assert lines[-1] == "Check the divisor."
    assert 'apply(ops["fail"], x)' in lines[1] and lines[2].strip() == "^"


def test_the_users_own_errors_stay_as_they_are(ops: dict[str, Op]) -> None:
    graph = Graph("f")
    with tracing(graph):
        set_outputs(graph, [apply(ops["foreign"], add_input(graph, INT, "x"))])
    with pytest.raises(ValueError, match=r"^the user's own$"):
        run(graph, [np.int32(1)])
    with pytest.raises(ValueError, match=r"^the user's own$"):
        apply(ops["foreign"], 1)


def test_no_warnings() -> None:
    graph = Graph("f")
    with tracing(graph):
        x = add_input(graph, TensorType(t.float32), "x")
        set_outputs(graph, [x * x])
    with np.errstate(all="raise"):
        assert run(graph, [np.float32(1e30)])[0] == np.inf
        assert (EagerTensor(np.float32(1e30)) * 1e30).numpy() == np.inf


def test_changing_a_graph_compiles_it_again() -> None:
    graph = Graph("f")
    with tracing(graph):
        x = add_input(graph, INT, "x")
        set_outputs(graph, [x])
        assert run(graph, [np.int32(1)])[0] == 1
        set_outputs(graph, [x + 1])
    assert executable(graph)(np.int32(1))[0] == 2


def test_tracing_is_undone_by_an_error() -> None:
    with pytest.raises(KeyError), tracing(Graph("f")):
        raise KeyError("stop")
    assert current_graph() is None


def simple() -> Graph:
    graph = Graph("f")
    with tracing(graph):
        x = add_input(graph, INT, "x")
        set_outputs(graph, [(x + 1) * x])
    graph.verify()
    return graph


def _swap(graph: Graph) -> None:
    graph.nodes.reverse()


def _foreign(graph: Graph) -> None:
    graph.nodes[1].inputs[0] = Value(Graph("other"), INT, hint="alien")


def _wrong_type(graph: Graph) -> None:
    graph.nodes[1].outputs[0].type = TensorType(t.float32)


def _wrong_operand(graph: Graph) -> None:
    graph.inputs[0].type = TensorType(t.int64)


def _twice(graph: Graph) -> None:
    graph.nodes.append(graph.nodes[-1])


def _undefined_output(graph: Graph) -> None:
    graph.nodes.pop()


def _wrong_count(graph: Graph) -> None:
    graph.nodes[1].single = False


@pytest.mark.parametrize(("damage", "message"), [
    (_swap, r"node multiply \(.*\): <value add: int32\[\]> is not defined before it is used"),
    (_foreign, r"node add \(.*\): <value alien: int32\[\]> belongs to graph other"),
    (_wrong_type, r"node add \(.*\): its rule gives int32\[\], but the value is float32\[\]"),
    (_wrong_operand, r"node add \(.*\): its rule says: add takes operands of one dtype, not int64 and int32"),
    (_twice, r"node multiply \(.*\): <value multiply: int32\[\]> is made twice"),
    (_undefined_output, r"its interface: <value multiply: int32\[\]> is not defined"),
    (_wrong_count, r"node add \(.*\): its rule gives 1 result, but the node has a tuple"),
])
def test_verify_sees_planted_faults(damage: Any, message: str) -> None:
    graph = simple()
    damage(graph)
    with pytest.raises(GraphError, match="graph f: " + message):
        graph.verify()


def test_verify_checks_captures(ops: dict[str, Op]) -> None:
    graph = loop(ops, EagerTensor(np.float32(10)))
    node = graph.nodes[1]
    node.inputs[-1], node.inputs[-2] = node.inputs[-2], node.inputs[-1]
    with pytest.raises(GraphError, match=r"its graph body captures .*, but .* is passed"):
        graph.verify()
    graph = loop(ops, EagerTensor(np.float32(10)))
    graph.nodes[1].params["body"].parent = Graph("other")
    with pytest.raises(GraphError, match="its graph body is not nested in this graph"):
        graph.verify()


def test_two_ops_of_one_name() -> None:
    with pytest.raises(ValueError, match="there are two ops named 'add'"):
        Op("add", np.add, lambda x, y: x)


def test_tensor_type_of_values() -> None:
    x = convert_to_tensor([1.0])
    assert isinstance(x, Tensor) and x.type == TensorType(t.float32, (1,))
