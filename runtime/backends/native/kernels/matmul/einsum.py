"""Lowering of einsum: sums, element-wise products and matrix products, two tensors at a time.

Each axis of a tensor has a letter. Letters that both tensors have and that are not needed afterwards form the inner
axis of a matrix product; common letters that are needed are batch axes. Without an inner axis the product is
element-wise, and fuses. As in NumPy, the order in which tensors are contracted depends on the sizes.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from runtime.backends.native.abi.blas import GEMM
from runtime.backends.native.codegen import folds, fusion
from runtime.backends.native.codegen.context import Lowering, Value, lowers
from runtime.backends.native.codegen.index_expressions import Array, Context, Leaf, Map, Scalar, same
from runtime.backends.native.codegen.scalar_ops import lower
from runtime.backends.native.kernels.elementwise import misfit, spread
from runtime.backends.native.kernels.matmul import gemm
from runtime.backends.native.kernels.matmul.products import multiply
from runtime.backends.native.kernels.shapes import as_array, narrowed, reshaped, result_type, widened
from runtime.backends.native.llvm.builder import Index, Val, const
from runtime.core.graph import Node
from runtime.core.types import DType, float16, float32

__all__: list[str] = []

_GUESS = 16  # for a size known only at run time


class Term(NamedTuple):
    """A tensor and the letters of its axes."""

    x: Array
    letters: str


@lowers("einsum")
def einsum(w: Lowering, node: Node, *values: Value) -> Value:
    type = result_type(node)
    dtype = float32 if type.dtype is float16 else type.dtype
    if dtype in GEMM:
        gemm.need(w, dtype)
    inputs, output = node.params["equation"].split("->")
    operands = [Term(widened(as_array(x)), letters) for x, letters in zip(values, inputs.split(","), strict=True)]
    sizes = _sizes(w, node, operands, values)
    sizes.update({letter: size for letter, size in zip(output, type.shape, strict=True) if size is not None})
    terms = [_spread(w, _diagonal(w, term), sizes) for term in operands]
    for positions in _path(node.params["equation"], terms):
        taken = [terms[k] for k in positions]
        terms = [term for k, term in enumerate(terms) if k not in positions]
        result, *others = taken
        for k, other in enumerate(others):
            needed = {*output, *"".join(term.letters for term in (*terms, *others[k + 1:]))}
            result = _product(w, _summed(w, result, {*needed, *other.letters}),
                              _summed(w, other, {*needed, *result.letters}), needed)
        terms.append(result)
    (result,) = terms
    x = _ordered(w, _summed(w, result, output), output)
    return narrowed(w, x if output else Scalar(x.dtype, x.at(Context(w.b), [])), type.dtype)


def _sizes(w: Lowering, node: Node, terms: Sequence[Term], values: Sequence[Value]) -> dict[str, Index]:
    """The size of each letter; 1 broadcasts, but not within a tensor. The kernel raises if tensors do not agree."""
    b = w.b
    sizes: dict[str, Index] = {}
    sizes_of: dict[str, list[Index]] = {}
    for x, letters in terms:
        for k, letter in enumerate(letters):
            size = x.dims[k]
            first = x.dims[letters.index(letter)]
            if not same(size, first):
                w.fail_if(b.icmp("ne", b.i64(size), b.i64(first)), node, values)
            sizes_of.setdefault(letter, []).append(size)
    for letter, found in sizes_of.items():
        known = next((size for size in found if isinstance(size, int) and size != 1), None)
        total: Index = found[0] if known is None else known
        if known is None:
            for size in found[1:]:
                if not same(size, total):
                    total = b.select(b.icmp("eq", b.i64(total), const("i64", 1)), b.i64(size), b.i64(total))
        w.fail_if(misfit(b, found, [total] * len(found)), node, values)
        sizes[letter] = total
    return sizes


def _diagonal(w: Lowering, term: Term) -> Term:
    """The term with each letter once: a diagonal, as a view."""
    x, letters = term
    own = "".join(dict.fromkeys(letters))
    if own == letters:
        return term
    x = _memory(w, x)
    steps = x.steps(w.b)
    merged: list[Index] = []
    for letter in own:
        step: Index = 0
        for k, other in enumerate(letters):
            step = w.b.iadd(step, steps[k]) if other == letter else step
        merged.append(step)
    dims = [x.dims[letters.index(letter)] for letter in own]
    return Term(Leaf(x.dtype, dims, x.pointer, merged, bases=x.bases), own)


def _spread(w: Lowering, term: Term, sizes: dict[str, Index]) -> Term:
    dims = [sizes[letter] for letter in term.letters]
    if all(map(same, term.x.dims, dims)):
        return term
    return Term(spread(w, term.x, dims), term.letters)


def _path(equation: str, terms: Sequence[Term]) -> list[tuple[int, ...]]:
    """The positions of the tensors combined in each step; their product is appended to the list."""
    if len(terms) < 3:
        return [tuple(range(len(terms)))]
    output = equation.split("->")[1]
    shapes = [tuple([max(size, 1) if isinstance(size, int) else _GUESS for size in term.x.dims]) for term in terms]
    spelled = ",".join(term.letters for term in terms) + "->" + output
    found: Any = np.einsum_path(spelled, *[np.broadcast_to(0.0, shape) for shape in shapes], optimize="greedy")[0]
    return [tuple(positions) for positions in found[1:]]


def _memory(w: Lowering, x: Array) -> Leaf:
    return x if isinstance(x, Leaf) else w.leaf(x)


def _ordered(w: Lowering, term: Term, letters: str) -> Array:
    """The tensor with its axes in another order."""
    x = term.x
    if term.letters == letters:
        return x
    x = _memory(w, x)
    steps = x.steps(w.b)
    order = [term.letters.index(letter) for letter in letters]
    return Leaf(x.dtype, [x.dims[k] for k in order], x.pointer, [steps[k] for k in order], bases=x.bases)


def _summed(w: Lowering, term: Term, needed: Iterable[str]) -> Term:
    """The sum over the letters that are not needed."""
    letters = "".join([letter for letter in term.letters if letter in needed])
    axes = [k for k, letter in enumerate(term.letters) if letter not in needed]
    if not axes:
        return term
    total = folds.reduce(w.b, w.memory, "reduce_sum", term.x, axes, False, w.divide)
    return Term(as_array(total), letters)


def _product(w: Lowering, a: Term, b: Term, needed: set[str]) -> Term:
    """The product of two tensors. All letters that only one of them has must be needed."""
    inner = "".join([letter for letter in a.letters if letter in b.letters and letter not in needed])
    if not inner:
        return _elements(w, a, b)
    batch = "".join([letter for letter in a.letters if letter in b.letters and letter in needed])
    rows = "".join([letter for letter in a.letters if letter not in b.letters])
    columns = "".join([letter for letter in b.letters if letter not in a.letters])
    x, y = _matrices(w, a, batch, rows, inner), _matrices(w, b, batch, inner, columns)
    count = len(batch)
    matrix = [x.dims[count], y.dims[count + 1]]
    target = w.memory(x.dtype, [*x.dims[:count], *matrix])

    def one(place: Sequence[Index]) -> None:
        left, right = (Leaf(m.dtype, m.dims[count:], m.address(w.b, [*place, 0, 0]), m.steps(w.b)[count:])
                       for m in (x, y))
        multiply(w, left, right, Leaf(x.dtype, matrix, target.address(w.b, [*place, 0, 0])))

    fusion.nest(w.b, x.dims[:count], one, parallel=False)
    letters = batch + rows + columns
    dims = {**dict(zip(a.letters, a.x.dims, strict=True)), **dict(zip(b.letters, b.x.dims, strict=True))}
    return Term(target.reshaped([dims[letter] for letter in letters]), letters)


def _matrices(w: Lowering, term: Term, batch: str, rows: str, columns: str) -> Leaf:
    """The tensor with one axis for the letters of rows and one for those of columns, one of them contiguous."""
    x = _ordered(w, term, batch + rows + columns)
    lead = x.dims[:len(batch)]
    dims = [*lead, w.b.product(x.dims[len(batch):len(batch + rows)]), w.b.product(x.dims[len(batch + rows):])]
    if len(rows) != 1 or len(columns) != 1:
        x = reshaped(w, x, dims)
    x = _memory(w, x)
    dense = any(isinstance(step, int) and step == 1 for step in x.steps(w.b)[-2:])
    return x if dense else w.leaf(x)


def _elements(w: Lowering, a: Term, b: Term) -> Term:
    """The element-wise product over common letters, and the outer product over the others."""
    letters = a.letters + "".join([letter for letter in b.letters if letter not in a.letters])
    dims: dict[str, Index] = dict(zip(a.letters, a.x.dims, strict=True))
    for letter, size in zip(b.letters, b.x.dims, strict=True):
        dims.setdefault(letter, size)
    both = [_widened(w, term, letters, [dims[letter] for letter in letters]) for term in (a, b)]
    dtype: DType = a.x.dtype

    def multiplied(builder: Any, x: Val, y: Val) -> Val:
        return lower(builder, "multiply", dtype, x, y)

    return Term(Map("multiply", dtype, both[0].dims, multiplied, both), letters)


def _widened(w: Lowering, term: Term, letters: str, dims: Sequence[Index]) -> Array:
    """The tensor over all letters, repeated along the missing ones."""
    if term.letters == letters:
        return term.x
    x = _memory(w, term.x)
    steps = dict(zip(term.letters, x.steps(w.b), strict=True))
    return Leaf(x.dtype, dims, x.pointer, [steps.get(letter, 0) for letter in letters], bases=x.bases)
