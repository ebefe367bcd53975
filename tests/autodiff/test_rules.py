"""The derivative of every op in the registry, at its own samples and at others, and the list of those without."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rule_checks import CHECKS, Point, check_own_dtype, checks_of, eager, reverse_mode, smooth
from rule_samples import points, smooth_samples

import runtime as rt
from runtime.autodiff.rules.registry import CONSTANT, JVP, VJP, Applied, Update, vjp
from runtime.core.graph import Graph
from runtime.core.trace import add_input, set_outputs, tracing
from runtime.core.types import TensorType, float64
from runtime.ops.families import OPS as REGISTRY

DIFFERENTIABLE = sorted((set(VJP) | set(JVP)) & set(REGISTRY))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_rules_hold_at_the_samples(name: str) -> None:
    rng = np.random.default_rng(0)
    for point in points(name):
        for check in checks_of(point):
            check(point, rng)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_rules_keep_the_dtype(name: str) -> None:
    for sample in smooth_samples(name):
        check_own_dtype(REGISTRY[name], sample)


# Which ops have rules.

ELSEWHERE = {
    "accumulate_variable", "assign_variable", "cond", "custom_gradient", "keep", "py_function", "read_variable",
    "reduce", "try_", "while_loop",
}
"""Ops that `runtime.autodiff` itself takes apart: control flow, variables and the user's functions."""


def test_every_op_has_both_rules_or_a_reason() -> None:
    names = set(REGISTRY) - ELSEWHERE
    assert names - set(CONSTANT) == set(VJP) & names == set(JVP) & names
    assert not (set(VJP) | set(JVP)) & set(CONSTANT)
    assert all(CONSTANT.values())


def test_rules_are_of_ops() -> None:
    """But for those of Python's later functions, which this Python may not have."""
    later = {"fma", "nextafter_steps", "sumprod", "sumprod_ints"}
    assert (set(VJP) | set(JVP) | set(CONSTANT)) - set(REGISTRY) <= later


def test_an_op_has_one_rule() -> None:
    with pytest.raises(ValueError, match="two rules for the op 'add'"):
        vjp("add")(lambda node, ct: [ct, ct])


# Values at kinks and edges: those of TF2, where it has the op.

nan, inf = np.nan, np.inf

EDGES: list[tuple[str, tuple[Any, ...], tuple[Any, ...]]] = [
    ("abs", ([-2.0, 0.0, 3.0],), ([-1, 0, 1],)),
    ("relu", ([-2.0, 0.0, 3.0],), ([0, 0, 1],)),
    ("sqrt", ([0.0, 4.0],), ([inf, 0.25],)),
    ("cbrt", ([0.0, 8.0],), ([inf, 1 / 12],)),
    ("maximum", ([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]), ([0, 1, 1], [1, 0, 0])),
    ("minimum", ([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]), ([1, 1, 0], [0, 0, 1])),
    ("pow", ([0.0, 0.0, 0.0, 0.0, -2.0], [0.0, 1.0, 2.0, 0.5, 3.0]), ([0, 1, 0, inf, 12], [0, 0, 0, 0, 0])),
    ("divide", ([1.0], [0.0]), ([inf], [-inf])),
    ("log", ([0.0],), ([inf],)),
    ("hypot", ([0.0, 3.0], [0.0, -4.0]), ([0, 0.6], [0, -0.8])),
    ("atan2", ([1.0, 0.0], [0.0, -1.0]), ([0, -1], [-1, 0])),
    ("mod", ([7.0, -7.0], [3.0, 3.0]), ([1, 1], [-2, 3])),
    ("fmod", ([7.0, -7.0], [3.0, 3.0]), ([1, 1], [-2, 2])),
    ("copysign", ([-2.0, 0.0, 3.0], [1.0, 1.0, -1.0]), ([-1, 0, -1], [0, 0, 0])),
    ("softplus", ([-800.0, 0.0, 800.0],), ([0, 0.5, 1],)),
    ("sigmoid", ([-800.0, 0.0, 800.0],), ([0, 0.25, 0],)),
    ("tanh", ([-800.0, 0.0, 800.0],), ([0, 1, 0],)),
    ("expm1", ([-40.0],), ([np.exp(-40)],)),
    ("asinh", ([1e200],), ([1e-200],)),
]


@pytest.mark.parametrize(("name", "operands", "want"), EDGES, ids=[f"{case[0]}" for case in EDGES])
def test_values_at_edges(name: str, operands: tuple[Any, ...], want: tuple[Any, ...]) -> None:
    point = Point(REGISTRY[name], [np.array(x) for x in operands], {})
    inputs = list(map(eager, point.arrays))
    one = eager(np.ones(np.shape(operands[0])))
    for ct, expected in zip(point.pulled(inputs, [one]), want, strict=True):
        np.testing.assert_allclose(ct._array, expected, rtol=1e-12)
    for i, expected in enumerate(want):
        tangents = [one if k == i else None for k in range(len(want))]
        np.testing.assert_allclose(point.pushed(inputs, tangents)[0]._array, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
def test_the_greatest_share(name: str) -> None:
    x = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]) * (1 if name == "reduce_max" else -1)
    point = Point(REGISTRY[name], [x], {"axis": (1,), "keepdims": False})
    (ct,) = point.pulled([eager(x)], [eager(np.array([2.0, 6.0]))])
    np.testing.assert_allclose(ct._array, [[0, 1, 1], [2, 2, 2]])
    (t,) = point.pushed([eager(x)], [eager(np.array([[1.0, 2, 4], [1, 2, 6]]))])
    np.testing.assert_allclose(t._array, [3, 3])


ZEROS = [[2.0, 0.0, 3.0], [0.0, 4.0, 0.0], [1.0, 5.0, -2.0]]
AT_ZEROS: list[tuple[str, Any, dict[str, Any]]] = [
    ("reduce_prod", ZEROS, {"axis": (1,), "keepdims": False}),
    ("reduce_prod", ZEROS, {"axis": (0, 1), "keepdims": True}),
    *[("cumprod", ZEROS, {"axis": axis, "exclusive": exclusive, "reverse": reverse})
      for axis in (0, 1) for exclusive in (False, True) for reverse in (False, True)],
]


@pytest.mark.parametrize(("name", "x", "params"), AT_ZEROS)
def test_products_with_zeros(name: str, x: Any, params: dict[str, Any]) -> None:
    """Of both orders."""
    point = Point(REGISTRY[name], [np.array(x)], params)
    for check in CHECKS:
        check(point, np.random.default_rng(0))


def test_the_last_of_updates_at_one_place_counts() -> None:
    arrays = [np.zeros((4, 2)), np.array([[1], [3], [1]]), np.arange(6.0).reshape(3, 2)]
    point = Point(REGISTRY["scatter"], arrays, {"mode": "update"})
    ct = np.arange(8.0).reshape(4, 2)
    of_x, of_updates = point.pulled(list(map(eager, arrays)), [eager(ct)])
    np.testing.assert_array_equal(of_x._array, [[0, 1], [0, 0], [4, 5], [0, 0]])
    np.testing.assert_array_equal(of_updates._array, [[0, 0], [6, 7], [2, 3]])


def test_padding_by_copies_is_added_up() -> None:
    x = np.arange(4.0)
    point = Point(REGISTRY["pad"], [x, np.float64(0)], {"pairs": ((2, 1),), "mode": "REFLECT"})
    ct, _ = point.pulled([eager(x), eager(np.float64(0))], [eager(np.arange(7.0))])
    np.testing.assert_array_equal(ct._array, [2, 3 + 1, 4 + 0 + 6, 5])


# Broadcasting: where only a run knows the sizes, too.

SHAPES = [((), (3,)), ((1,), (3,)), ((2, 1), (1, 3)), ((2, 3), (3,)), ((1, 1), (2, 3)), ((2, 0), (1, 1)),
          ((1, 4), (4,))]


@pytest.mark.parametrize("name", ["add", "multiply", "divide", "where", "complex", "setitem"])
@pytest.mark.parametrize("shapes", [*SHAPES, *[shapes[::-1] for shapes in SHAPES]], ids=str)
def test_broadcasting(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    rng = np.random.default_rng(0)
    operands: list[Any] = [rng.uniform(1, 2, shape) for shape in shapes]
    params = {}
    if name == "where":
        operands.insert(0, rng.random(np.broadcast_shapes(*shapes)) < 0.5)
    if name == "setitem":
        operands[0] = np.zeros(np.broadcast_shapes(*shapes))
        params = {"index": ()}
        if operands[1].ndim > operands[0].ndim:
            return
    point = Point(REGISTRY[name], operands, params)
    for check in CHECKS:
        check(point, rng)


EINSUMS = [("ij->", ((2, 3),)), ("ij->j", ((2, 3),)), ("ii->", ((3, 3),)), ("ii->i", ((3, 3),)),
           ("iij->j", ((2, 2, 3),)), ("ij,jk->", ((2, 3), (3, 4))), ("ij,j->i", ((2, 3), (3,))),
           ("ij,ij->", ((2, 3), (1, 3))),
           ("ii,i->i", ((3, 3), (3,))), ("i,j,k->kji", ((2,), (3,), (4,))), ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 1))),
           ("iii->i", ((3, 3, 3),)), ("i,i->", ((3,), (1,))), ("bij,jk->bik", ((2, 3, 4), (4, 2)))]


@pytest.mark.parametrize(("equation", "shapes"), EINSUMS)
@pytest.mark.parametrize("complex", [False, True])
def test_einsum(equation: str, shapes: tuple[tuple[int, ...], ...], complex: bool) -> None:
    rng = np.random.default_rng(0)
    operands = [rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if complex else 0) for shape in shapes]
    for check in CHECKS:
        check(Point(REGISTRY["einsum"], operands, {"equation": equation}), rng)


PARTS: list[tuple[tuple[int, ...], tuple[Any, ...], tuple[Any, ...]]] = [
    ((5, 4), ((1, 4, None),), ()), ((5, 4), ((None, None, -1), (0, 3, None)), ()), ((5, 4), ((0, 1, None),), ()),
    ((5, 4), (2, (None, None, 2)), ()), ((5, 4), ("?", None, ("?", None, None)), (np.int32(-2), np.int64(1))),
    ((5, 4), ((-3, 100, None), -1), ()), ((5,), ((3, 1, None),), ()),
]


@pytest.mark.parametrize(("shape", "index", "operands"), PARTS)
def test_parts(shape: tuple[int, ...], index: Any, operands: tuple[Any, ...]) -> None:
    rng = np.random.default_rng(0)
    for check in CHECKS:
        check(Point(REGISTRY["getitem"], [rng.random(shape), *operands], {"index": index}), rng)


def test_a_row_is_added_to_the_cotangent_of_the_whole() -> None:
    """No tensor of zeros as large as the operand for each row that is read."""
    x = eager(np.ones((4, 2)))
    node = Applied("getitem", [x, eager(np.int32(2))], [eager(np.ones(2))], {"index": ("?",)}, [True, False])
    (update, _) = VJP["getitem"](node, eager(np.array([5.0, 6.0])))
    assert isinstance(update, Update)
    found = update.add(eager(np.full((4, 2), 10.0)))
    np.testing.assert_array_equal(found._array, [[10, 10], [10, 10], [15, 16], [10, 10]])


# Compositions, at the kinks that TF2 has an op of its own for.

COMPOSED: list[tuple[Any, list[float], list[float]]] = [
    (rt.nn.relu6, [-1, 0, 3, 6, 7], [0, 0, 1, 0, 0]),
    (rt.nn.leaky_relu, [-1, 0, 1], [0.2, 0.2, 1]),
    (lambda x: rt.nn.elu(x, alpha=3.0), [0, 1], [1, 1]),
    (rt.nn.selu, [0], [1.0507009873554805]),
    (rt.nn.softsign, [-1, 0, 1], [0.25, 1, 0.25]),
    (lambda x: rt.clip_by_value(x, -1, 1), [-2, -1, 0, 1, 2], [0, 1, 1, 1, 0]),
    (lambda x: rt.math.divide_no_nan(1, x), [0, 2], [0, -0.25]),
    (lambda x: rt.math.multiply_no_nan([3, inf], x), [0, 0], [3, 0]),
    (lambda x: rt.math.xlogy(x, np.float64(0)), [0], [0]),
    (lambda x: rt.math.square(x), [0, 3], [0, 6]),
    (lambda x: rt.sort(x), [3, 1, 1], [1, 1, 1]),
    (lambda x: rt.math.top_k(x, 2).values, [1, 3, 2, 3], [0, 1, 0, 1]),
]


@pytest.mark.parametrize(("function", "x", "want"), COMPOSED)
def test_compositions_at_kinks(function: Any, x: list[float], want: list[float]) -> None:
    graph = Graph("composed")
    with tracing(graph):
        set_outputs(graph, [rt.reduce_sum(function(add_input(graph, TensorType(float64, (len(x),)))))])
    (ct,) = reverse_mode(graph, [eager(np.array(x, float))], [eager(np.float64(1))])
    np.testing.assert_allclose(ct._array, want)


# Functions of Python's `math` on operands of other dtypes than their results, and those that not every Python has:
# without their kernels, by what the rules give.

x, y, z = (eager(np.float64(value)) for value in (3, 5, 7))
pair, ct = eager(np.array([2.0, 4.0])), eager(np.float64(10))
OF_PYTHON: list[tuple[str, list[Any], dict[str, Any], list[Any], float]] = [
    ("fma", [x, y, eager(np.float32(1))], {}, [50, 30, 10], 5 + 3 + 1),
    ("sumprod", [x, y, pair], {"count": 2}, [20, 40, [30, 50]], 2 + 4 + 3 + 5),
    ("sumprod", [pair, x, y], {"count": 1}, [[30, 50], 20, 40], 2 + 4 + 3 + 5),
    ("nextafter_steps", [x, y, eager(np.int64(2))], {}, [10, None, None], 1),
    ("nextafter", [eager(np.float32(3)), y], {}, [10, None], 1),
    ("lgamma", [eager(np.float16(1))], {}, [np.float16(-5.772)], -0.5772156649015329),
]


@pytest.mark.parametrize(("name", "inputs", "params", "want", "slope"), OF_PYTHON)
def test_functions_of_pythons_math(name: str, inputs: list[Any], params: dict[str, Any], want: list[Any], slope: float
                                    ) -> None:
    node = Applied(name, inputs, [z], params, [True] * len(inputs))
    for found, expected, x in zip(VJP[name](node, ct), want, inputs, strict=True):
        if expected is None:
            assert found is None
        else:
            np.testing.assert_array_equal(found._array, expected)
            assert found.type == x.type
    ones = [eager(np.ones(x.shape, x.dtype.np)) if smooth(x.type) else None for x in inputs]
    (tangent,) = JVP[name](node, *ones)
    assert np.isclose(tangent._array, slope, rtol=1e-12) and tangent.dtype is float64
    (alone,) = JVP[name](node, ones[0], *[None] * (len(inputs) - 1))
    assert alone.dtype is float64


@pytest.mark.parametrize("way", [lambda f: f, rt.function, lambda f: rt.function(f, executor="numpy")])
def test_a_root_that_is_not_selected_contributes_nothing(way: Any) -> None:
    """As in TF: 0 times the derivative of a root at 0 is 0; it still has a second derivative elsewhere."""
    def fn(x: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = rt.reduce_sum(rt.where(x > 0, rt.sqrt(x), 0.0)) + rt.reduce_sum(0.0 * rt.norm(x[:, None], axis=1))
        return tape.gradient(y, x)

    assert way(fn)(rt.constant([0.0, 4.0])).numpy().tolist() == [0, 0.25]
    assert np.isinf(rt.grad(rt.sqrt)(0.0).numpy())
    assert abs(rt.grad(rt.grad(lambda x: (rt.sqrt(x) - 2.0) ** 2))(4.0).numpy() - 0.125) < 1e-6
