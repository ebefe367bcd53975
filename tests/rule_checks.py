"""What must hold for the derivatives of every op: one function for each property, given a sample.

`Point` is an op at a sample, with its floats in 64 bits; its rules are those of the registry, or planted ones.
`autodiff/test_rules.py` holds all ops to the checks; `test_planted_rule_faults.py` sees that they catch faults.
"""
from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from op_checks import forgotten, last_dim_needed, type_of, value_of

from runtime.autodiff.rules.cotangent_lists import add_lists, zero_list
from runtime.autodiff.rules.registry import CONSTANT, JVP, VJP, Applied, Rule, Update
from runtime.backends.numpy import run
from runtime.core.graph import Graph, Value
from runtime.core.op import Op, Sample
from runtime.core.tensor import EagerList, EagerTensor
from runtime.core.trace import add_input, apply, set_outputs, tracing
from runtime.core.types import DType, ListType, TensorType, Type, complex128, float64
from runtime.ops.creation import zeros_like
from runtime.ops.lists import list_cast
from runtime.ops.math import add

STEP = 1e-5
Arrays = Sequence[Any]  # operands or results: arrays, and lists as EagerList


def smooth(type: Type) -> bool:
    dtype = type.element.dtype if isinstance(type, ListType) else type.dtype
    return dtype.is_floating or dtype.is_complex


@dataclass
class Point:
    """An op at a sample. `vjp` and `jvp` are tables of rules."""

    op: Op
    arrays: Arrays
    params: Mapping[str, Any]
    vjp: Mapping[str, Rule] = field(default_factory=lambda: VJP)
    jvp: Mapping[str, Rule] = field(default_factory=lambda: JVP)

    @classmethod
    def of(cls, op: Op, sample: Sample, **rules: Any) -> Point:
        """The point of a sample, with floats of 64 bits."""
        arrays, params = sample
        return cls(op, [wide(x) for x in arrays], {name: wide_param(p) for name, p in params.items()}, **rules)

    @property
    def wanted(self) -> list[bool]:
        return [smooth(type_of(x)) for x in self.arrays]

    def forward(self, arrays: Arrays) -> tuple[Any, ...]:
        """The results as eager tensors and lists."""
        return results(self.op, list(map(eager, arrays)), self.params)

    def applied(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> Applied:
        return Applied(self.op.name, inputs, outputs, self.params, self.wanted)

    def pushed(self, inputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """Tangents of the results, zeros for None."""
        outputs = results(self.op, inputs, self.params)
        found = self.jvp[self.op.name](self.applied(inputs, outputs), *tangents)
        assert len(found) == len(outputs), f"{self.op.name}: {len(found)} tangents for {len(outputs)} results"
        return [zero(x) if t is None else t for x, t in zip(outputs, found, strict=True)]

    def pulled(self, inputs: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        """Cotangents of the operands that are wanted, zeros for None."""
        outputs = results(self.op, inputs, self.params)
        found = self.vjp[self.op.name](self.applied(inputs, outputs), *cts)
        assert len(found) == len(inputs), f"{self.op.name}: {len(found)} cotangents for {len(inputs)} operands"
        return [whole(ct, x) for x, ct, want in zip(inputs, found, self.wanted, strict=True) if want]


def results(op: Op, inputs: Sequence[Any], params: Mapping[str, Any]) -> tuple[Any, ...]:
    found = apply(op, *inputs, **copy.deepcopy(dict(params)))
    return found if isinstance(found, tuple) else (found,)


def zero(x: Any) -> Any:
    return zero_list(x) if isinstance(x.type, ListType) else zeros_like(x)


def whole(ct: Any, x: Any) -> Any:
    """A cotangent: None is zero, an `Update` is added to zero."""
    if ct is None:
        return zero(x)
    return ct.add(zero(x)) if isinstance(ct, Update) else ct


# Values.

def wide(x: Any) -> Any:
    if isinstance(x, EagerList):
        return EagerList(tuple(None if item is None else wide(item) for item in x.items), wide_type(x.type))
    return np.asarray(x, {"f": np.float64, "c": np.complex128}.get(x.dtype.kind, x.dtype))


def wide_type(type: Any) -> Any:
    if isinstance(type, ListType):
        return ListType(wide_type(type.element), type.known)
    return type.with_dtype(wide_param(type.dtype), type.weak)


def wide_param(param: Any) -> Any:
    if isinstance(param, DType):
        return float64 if param.is_floating else complex128 if param.is_complex else param
    return wide_type(param) if isinstance(param, (TensorType, ListType)) else copy.deepcopy(param)


def eager(x: Any) -> Any:
    return x if isinstance(x, (EagerList, EagerTensor)) else EagerTensor.own(np.array(x))


def plain(x: Any) -> Any:
    """A result: an array, or the tuple of the elements of a list."""
    return tuple(x.items) if isinstance(x, EagerList) else x._array


def moved(x: Any, direction: Any, step: float) -> Any:
    if direction is None:
        return x
    if isinstance(x, EagerList):
        return EagerList(tuple(None if a is None else a + step * d
                               for a, d in zip(x.items, direction.items, strict=True)), x.type)
    return x + step * direction


def parts(x: Any) -> list[Any]:
    if isinstance(x, (tuple, list)) or type(x).__name__ == "Items":
        return list(x)
    return list(x.items) if isinstance(x, EagerList) else [x._array if isinstance(x, EagerTensor) else x]


def random_like(x: Any, rng: np.random.Generator) -> Any:
    """A tangent or cotangent: random numbers of the same shapes."""
    if isinstance(x, EagerList):
        return EagerList(tuple(None if item is None else random_like(item, rng) for item in x.items), x.type)
    x = x._array if isinstance(x, EagerTensor) else x
    values = rng.uniform(-1, 1, x.shape)
    return np.asarray(values + 1j * rng.uniform(-1, 1, x.shape) if x.dtype.kind == "c" else values).astype(x.dtype)


def inner(x: Any, y: Any) -> float:
    """The real inner product: complex numbers count as pairs, and what is not written as zero."""
    xs, ys = parts(x), parts(y)
    assert len(xs) == len(ys), f"lists of {len(xs)} and {len(ys)} elements"
    return float(sum(np.real(np.sum(np.conj(a) * b)) for a, b in zip(xs, ys, strict=True)
                     if a is not None and b is not None))


def close(found: Any, want: Any, what: str, tolerance: float = 1e-5) -> None:
    if isinstance(want, EagerList) and isinstance(found, np.ndarray):  # as native code gives it
        found = list(found)
    for a, b in zip(parts(found), parts(want), strict=True):
        if a is None or b is None:
            a, b = 0 if a is None else a, 0 if b is None else b
        else:
            assert np.shape(a) == np.shape(b), f"{what}: {np.shape(a)}, {np.shape(b)}"
        scale = 1 + (np.max(np.abs(b)) if np.size(b) else 0)
        assert np.allclose(a, b, rtol=tolerance, atol=tolerance * scale), f"{what}: {a}, not {b}"


def slope(ahead: Any, behind: Any) -> list[Any]:
    """The central difference; 0 where both are the same infinity."""
    with np.errstate(invalid="ignore"):
        return [None if p is None else np.where(p == q, 0, (p - q) / (2 * STEP))
                for p, q in zip(parts(ahead), parts(behind), strict=True)]


def of_type(x: Any, type: Type, what: str) -> None:
    if isinstance(type, ListType):
        assert isinstance(x.type, ListType) and x.type.element.dtype is type.element.dtype, f"{what}: {x.type}, {type}"
    else:
        assert type.accepts(x.type), f"{what}: {x.type} for {type}"


# First order.

HERMITIAN = {"cholesky"}
"""Ops that take a Hermitian matrix, and look at one triangle of it."""


def direction(point: Point, x: Any, rng: np.random.Generator) -> Any:
    """A tangent of an operand of the op."""
    found = random_like(x, rng)
    return (found + np.swapaxes(found, -1, -2).conj()) / 2 if point.op.name in HERMITIAN else found


def tangents_of(point: Point, rng: np.random.Generator, which: Sequence[int]) -> list[Any]:
    return [direction(point, x, rng) if i in which else None for i, x in enumerate(point.arrays)]


def directions(point: Point) -> list[list[int]]:
    """All operands together, and each alone."""
    active = [i for i, want in enumerate(point.wanted) if want]
    return [active, *([i] for i in active if len(active) > 1)]


def check_jvp(point: Point, rng: np.random.Generator) -> None:
    """Tangents are central differences, in the types of the results."""
    for which in directions(point):
        tangents = tangents_of(point, rng, which)
        inputs = list(map(eager, point.arrays))
        found = point.pushed(inputs, [None if t is None else eager(t) for t in tangents])
        ahead, behind = ([*map(plain, point.forward([moved(x, t, step) for x, t in zip(point.arrays, tangents,
                                                                                        strict=True)]))]
                         for step in (STEP, -STEP))
        for k, (out, t, a, b) in enumerate(zip(point.forward(point.arrays), found, ahead, behind, strict=True)):
            if smooth(out.type):
                what = f"the tangent of result {k} of {point.op.name} by {which}"
                of_type(t, out.type, what)
                close(t, slope(a, b), what)


def check_vjp(point: Point, rng: np.random.Generator) -> None:
    """Cotangents are adjoint to tangents, in the types of the operands."""
    inputs = list(map(eager, point.arrays))
    outputs = point.forward(point.arrays)
    differentiable = [k for k, out in enumerate(outputs) if smooth(out.type)]
    if not differentiable:
        return
    for chosen in [differentiable, *([k] for k in differentiable if len(differentiable) > 1)]:
        cts = [eager(random_like(out, rng)) if k in chosen else None for k, out in enumerate(outputs)]
        pulled = point.pulled(inputs, cts)
        active = [i for i, want in enumerate(point.wanted) if want]
        for i, ct in zip(active, pulled, strict=True):
            of_type(ct, type_of(point.arrays[i]), f"the cotangent of operand {i} of {point.op.name}")
            tangents = tangents_of(point, rng, [i])
            pushed = point.pushed(inputs, [None if t is None else eager(t) for t in tangents])
            left = sum(inner(c, t) for c, t in zip(cts, pushed, strict=True) if c is not None)
            right = inner(ct, tangents[i])
            assert np.isclose(left, right, rtol=1e-7, atol=1e-7), (
                f"{point.op.name}: <ct, jvp(t)> is {left}, <vjp(ct), t> is {right} for operand {i}")


def check_own_dtype(op: Op, sample: Sample) -> None:
    """With the sample's own dtypes the results are nearly the same, and of these dtypes."""
    narrow, point = Point(op, *sample), Point.of(op, sample)
    seed = np.random.default_rng(3)
    outputs = point.forward(point.arrays)
    cts = [random_like(out, seed) if smooth(out.type) else None for out in outputs]
    if all(ct is None for ct in cts):
        return
    own = [None if ct is None else eager(cast_like(ct, out)) for ct, out in zip(cts, narrow.forward(sample[0]),
                                                                               strict=True)]
    found = narrow.pulled(list(map(eager, sample[0])), own)
    want = point.pulled(list(map(eager, point.arrays)), [None if ct is None else eager(ct) for ct in cts])
    active = [x for x, wants in zip(sample[0], narrow.wanted, strict=True) if wants]
    for x, a, b in zip(active, found, want, strict=True):
        of_type(a, type_of(x), f"a cotangent of {op.name}")
        dtype = type_of(x).element.dtype if isinstance(x, EagerList) else type_of(x).dtype
        close(a, b, f"{op.name} in {dtype}", {2: 0.05, 4: 2e-3}.get(dtype.real_dtype.size, 1e-5))


def cast_like(x: Any, like: Any) -> Any:
    if isinstance(x, EagerList):
        return list_cast(x, like.type.element)
    return x.astype(like.dtype.np)


# Staged.

def check_staged(point: Point, rng: np.random.Generator) -> None:
    """Traced, with dims known and not, both rules are what they are eagerly."""
    for rule, given in rules_of(point, rng):
        want = rule(list(map(eager, point.arrays)), given)
        for hide in (False, True):
            graph, arguments = staged(point, rule, given, hide)
            graph.verify()
            for a, b in zip(run(graph, arguments), want, strict=True):
                close(a, b, f"{rule.__name__} of {point.op.name}, staged", 1e-9)


def rules_of(point: Point, rng: np.random.Generator) -> list[tuple[Callable[..., Any], list[Any]]]:
    """Both rules, and what they are given; none if no result has a derivative."""
    outputs = point.forward(point.arrays)
    tangents = [eager(random_like(x, rng)) if want else None
                for x, want in zip(point.arrays, point.wanted, strict=True)]
    cts = [eager(random_like(out, rng)) if smooth(out.type) else None for out in outputs]
    return [] if all(ct is None for ct in cts) else [(point.pulled, cts), (point.pushed, tangents)]


def staged(point: Point, rule: Callable[..., Any], given: Sequence[Any], hide: bool) -> tuple[Graph, list[Any]]:
    """The graph of an op and one of its rules, and its arguments."""
    graph = Graph(point.op.name)
    found, arguments = stage(graph, point, rule, given, hide)
    with tracing(graph):
        set_outputs(graph, found)
    return graph, arguments


def stage(graph: Graph, point: Point, rule: Callable[..., Any], given: Sequence[Any], hide: bool
          ) -> tuple[list[Any], list[Any]]:
    """An op and one of its rules in a graph: their results, and the arguments for their inputs."""
    kept = last_dim_needed(point.op, [type_of(x) for x in point.arrays])
    with tracing(graph):
        inputs = [add_input(graph, forgotten(type_of(x)) if hide and i not in kept else type_of(x))
                  for i, x in enumerate(point.arrays)]
        extra = [None if x is None else add_input(graph, forgotten(x.type) if hide else x.type) for x in given]
        found = rule(inputs, extra)
    if rule.__name__ == "pulled":
        active = [x for x, want in zip(inputs, point.wanted, strict=True) if want]
        for x, ct in zip(active, found, strict=True):
            have = ct.type
            assert hasattr(have, "element") or (have.dtype is x.type.dtype and have.ndim == x.type.ndim), (
                f"{point.op.name}: a cotangent is {have} for {x.type}")
    return found, [*map(value_of, point.arrays), *(plain(x) for x in given if x is not None)]


# Second order: the rules of the ops that a rule is made of, by a small reference that walks its graph eagerly.

def walk(graph: Graph, inputs: Sequence[Any]) -> dict[Value, Any]:
    values: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
    for node in graph.nodes:
        found = results(node.op, [values[x] for x in node.inputs], node.params)
        values.update(zip(node.outputs, found, strict=True))
    return values


def forward_mode(graph: Graph, inputs: Sequence[Any], tangents: Sequence[Any], table: Mapping[str, Rule] = JVP
                 ) -> list[Any]:
    """Tangents of a graph's results."""
    values = walk(graph, inputs)
    found: dict[Value, Any] = dict(zip(graph.inputs, tangents, strict=True))
    for node in graph.nodes:
        given = [found.get(x) for x in node.inputs]
        if node.op.name in CONSTANT or all(t is None for t in given):
            continue
        applied = Applied(node.op.name, [values[x] for x in node.inputs], [values[x] for x in node.outputs],
                          node.params, [t is not None for t in given])
        found.update(zip(node.outputs, table[node.op.name](applied, *given), strict=True))
    return [found.get(x) for x in graph.outputs]


def reverse_mode(graph: Graph, inputs: Sequence[Any], cts: Sequence[Any], table: Mapping[str, Rule] = VJP
                 ) -> list[Any]:
    """Cotangents of a graph's inputs."""
    values = walk(graph, inputs)
    sums: dict[Value, Any] = {}

    def put(x: Value, ct: Any) -> None:
        if isinstance(ct, Update):
            sums[x] = ct.add(zero(values[x]) if sums.get(x) is None else sums[x])
        elif ct is not None:
            plus = add_lists if isinstance(ct, EagerList) else add
            sums[x] = ct if sums.get(x) is None else plus(sums[x], ct)

    for x, ct in zip(graph.outputs, cts, strict=True):
        put(x, ct)
    for node in reversed(graph.nodes):
        given = [sums.get(x) for x in node.outputs]
        if node.op.name in CONSTANT or not node.inputs or all(ct is None for ct in given):
            continue
        wanted = [smooth(x.type) for x in node.inputs]
        applied = Applied(node.op.name, [values[x] for x in node.inputs], [values[x] for x in node.outputs],
                          node.params, wanted)
        found = table[node.op.name](applied, *given)
        for x, want, ct in zip(node.inputs, wanted, found, strict=True):
            if want:
                put(x, ct)
    return [sums.get(x) for x in graph.inputs]


def check_second(point: Point, rng: np.random.Generator) -> None:
    """The derivative of both rules: against central differences in forward mode, and reverse mode against that."""
    for rule, given in rules_of(point, rng):
        graph, _ = staged(point, rule, given, False)
        if any(node.subgraphs for node in graph.walk()):
            continue
        arrays = [*point.arrays, *(x if isinstance(x, EagerList) else x._array for x in given if x is not None)]
        ways = [*tangents_of(point, rng, [i for i, want in enumerate(point.wanted) if want]),
                *(random_like(x, rng) for x in given if x is not None)]
        what = f"the derivative of {rule.__name__} of {point.op.name}"
        inputs = list(map(eager, arrays))
        pushed = forward_mode(graph, inputs, [None if d is None else eager(d) for d in ways])
        sides = []
        for step in (STEP, -STEP):
            values = walk(graph, [eager(moved(x, d, step)) for x, d in zip(arrays, ways, strict=True)])
            sides.append([plain(values[x]) for x in graph.outputs])
        for x, t, a, b in zip(graph.outputs, pushed, *sides, strict=True):
            if not smooth(x.type):
                continue
            close([None] * len(parts(a)) if t is None else t, slope(a, b), what, 2e-5)
        seeds = [random_like(values[x], rng) for x in graph.outputs]
        back = reverse_mode(graph, inputs, [eager(s) if smooth(x.type) else None
                                            for x, s in zip(graph.outputs, seeds, strict=True)])
        left = sum(inner(s, t) for s, t, x in zip(seeds, pushed, graph.outputs, strict=True)
                   if t is not None and smooth(x.type))
        right = sum(inner(ct, d) for ct, d in zip(back, ways, strict=True) if ct is not None and d is not None)
        assert np.isclose(left, right, rtol=1e-6, atol=1e-6), f"{what}: <ct, jvp(t)> is {left}, <vjp(ct), t> is {right}"


def checks_of(point: Point) -> list[Callable[[Point, np.random.Generator], None]]:
    """All checks; without differences where the phases of complex vectors are LAPACK's to choose."""
    free = point.op.name in ("eigh", "svd") and np.iscomplexobj(point.arrays[0])
    return [check for check in CHECKS if not (free and check in (check_jvp, check_second))]


CHECKS: tuple[Callable[[Point, np.random.Generator], None], ...] = (check_jvp, check_vjp, check_staged, check_second)
