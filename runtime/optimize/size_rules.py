"""The sizes of an op's results, given those of its operands: a function for each op.

A rule may only say what holds whenever the op does not raise.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from runtime.core.graph import Node, Value
from runtime.core.types import TensorType, int32, int64
from runtime.ops.op_makers import ELEMENTWISE
from runtime.optimize.symbols import Numbers, Shape, Size, Symbol, either, factors_of, is_size

if TYPE_CHECKING:
    from runtime.optimize.symbolic_sizes import Sizes

__all__ = ["NUMBERS", "RULES"]

_SAME: Final = frozenset((
    "argsort", "cast", "cholesky", "cumprod", "cumsum", "list_cast", "list_slice", "setitem", "stop_gradient"))
"""Other ops whose result has the sizes of the first operand; of lists those of the elements."""
_REDUCTIONS: Final = frozenset((
    "reduce_all", "reduce_any", "reduce_max", "reduce_min", "reduce_prod", "reduce_sum"))
_ARITHMETIC: Final = ("add", "floordiv", "maximum", "minimum", "multiply", "subtract")


# Ints.

def _dim(s: Sizes, node: Node) -> Numbers:
    return (s.of(node.inputs[0])[node.params["axis"]],)


def _cast(s: Sizes, node: Node) -> Numbers | None:
    source, target, found = node.inputs[0].type, node.outputs[0].type, s.elements(node.inputs[0])
    assert isinstance(source, TensorType) and isinstance(target, TensorType)
    if found is None or source.dtype is target.dtype or (source.dtype is int32 and target.dtype is int64):
        return found
    return tuple([x if x is not None and s.is_small(x) else None for x in found])


def _stacked(s: Sizes, node: Node) -> Numbers:
    return tuple([s.number(x) for x in node.inputs])


def _concatenated(s: Sizes, node: Node) -> Numbers | None:
    parts = [s.elements(x) for x in node.inputs]
    if any(part is None for part in parts):
        return None
    return tuple([x for part in parts for x in part or ()])


def _chosen(s: Sizes, node: Node) -> Numbers | None:
    x, y = (s.number(value) for value in node.inputs[1:])
    test = node.inputs[0].node
    if test is not None and test.op.name == "equal" and x is not None and y is not None and (
            s.number(test.inputs[0]), s.number(test.inputs[1])) == (x, 1):  # a derivative asks which size was repeated
        s.meet([x], [y])
    return (x,) if x is not None and x == y else None


def _moved(s: Sizes, node: Node) -> Numbers | None:
    """A scalar as a vector, or a vector as a scalar."""
    return s.elements(node.inputs[0])


def _picked(s: Sizes, node: Node) -> Numbers | None:
    found, index = s.elements(node.inputs[0]), node.params["index"]
    if found is None or len(index) != 1 or not node.inputs[0].type.shape:  # type: ignore[union-attr]
        return None
    (entry,) = index
    if type(entry) is int and -len(found) <= entry < len(found):
        return (found[entry],)
    return found[slice(*entry)] if type(entry) is tuple and "?" not in entry and entry[2] != 0 else None


def _computed(s: Sizes, node: Node) -> Numbers | None:
    name, (x, y), type = node.op.name, (s.number(value) for value in node.inputs), node.outputs[0].type
    if x is None or y is None or (isinstance(x, int) and isinstance(y, int)):
        return None
    if name == "maximum" and isinstance(x, int):
        x, y = y, x
    if _is_neutral(name, x, y):
        return (x,)
    if name == "floordiv" and isinstance(y, Symbol) and y.key[1:] == ("maximum", x, 1) and is_size(x):
        return (s.of_sizes("sign", x),)  # 1, or 0 for 0
    small = s.is_small(x) and s.is_small(y) and isinstance(type, TensorType) and type.dtype is int64
    if name == "multiply" and small:
        count, symbols = factors_of((x, y))
        return (s.product(count, [*symbols.elements()]),)
    positive = is_size(x) and is_size(y) and (name in ("floordiv", "maximum", "minimum") or (name == "add" and small))
    return (s.of_sizes(type, name, x, y, is_size=positive),)


def _is_neutral(name: str, x: Size, y: Size) -> bool:
    """Whether the result for x and y is x."""
    if name in ("maximum", "minimum"):
        return x is y or (name == "maximum" and isinstance(y, int) and y <= 0 and is_size(x))
    return y == (0 if name in ("add", "subtract") else 1)


_Number = Callable[["Sizes", Node], "Numbers | None"]
NUMBERS: Final[dict[str, _Number]] = {
    "dim": _dim, "cast": _cast, "stack": _stacked, "concat": _concatenated, "where": _chosen, "expand_dims": _moved,
    "squeeze": _moved, "getitem": _picked, **dict.fromkeys(_ARITHMETIC, _computed)}


# Shapes.

def _elementwise(s: Sizes, node: Node) -> list[Shape | None]:
    return [s.broadcast([s.of(x) for x in node.inputs])]


def _first(s: Sizes, node: Node) -> list[Shape | None]:
    return [s.shapes.get(node.inputs[0], s.own(node.inputs[0]))]


def _reduced(s: Sizes, node: Node) -> list[Shape | None]:
    axes = node.params["axis"]
    axes = (axes,) if isinstance(axes, int) else axes
    shape: list[Size] = []
    for axis, size in enumerate(s.of(node.inputs[0])):
        if axis not in axes:
            shape.append(size)
        elif node.params.get("keepdims"):
            shape.append(1)
    return [tuple(shape)]


def _matmul(s: Sizes, node: Node) -> list[Shape | None]:
    x, y = (s.of(value) for value in node.inputs)
    s.meet(x[-1:], y[-2:-1])
    return [(*s.broadcast([x[:-2], y[:-2]]), x[-2], y[-1])]


def _solve(s: Sizes, node: Node) -> list[Shape | None]:
    x, y = (s.of(value) for value in node.inputs)
    s.meet(x[-1:], y[-2:-1])
    return [(*s.broadcast([x[:-2], y[:-2]]), *y[-2:])]


def _eigh(s: Sizes, node: Node) -> list[Shape | None]:
    shape = s.of(node.inputs[0])
    return [shape[:-1], shape]


def _least(s: Sizes, node: Node) -> tuple[Shape, Size, Size, Size]:
    """The leading sizes of matrices, the numbers of rows and columns, and the smaller of these."""
    *lead, rows, columns = s.of(node.inputs[0])
    least = rows if rows == columns else min(rows, columns) if isinstance(rows, int) and isinstance(
        columns, int) else s.of_sizes("least", rows, columns)
    return tuple(lead), rows, columns, least


def _svd(s: Sizes, node: Node) -> list[Shape | None]:
    lead, rows, columns, least = _least(s, node)
    full = node.params["full_matrices"]
    return [(*lead, least), (*lead, rows, rows if full else least), (*lead, columns, columns if full else least)]


def _qr(s: Sizes, node: Node) -> list[Shape | None]:
    lead, rows, columns, least = _least(s, node)
    inner = rows if node.params["full_matrices"] else least
    return [(*lead, rows, inner), (*lead, inner, columns)]


def _of_matrices(s: Sizes, node: Node) -> list[Shape | None]:
    return [s.of(node.inputs[0])[:-2] for _ in node.outputs]


def _transposed(s: Sizes, node: Node) -> list[Shape | None]:
    shape = s.of(node.inputs[0])
    return [tuple([shape[axis] for axis in node.params["perm"]])]


def _expanded(s: Sizes, node: Node) -> list[Shape | None]:
    axes, sizes = node.params["axis"], iter(s.of(node.inputs[0]))
    return [tuple([1 if axis in axes else next(sizes) for axis in range(len(s.own(node.outputs[0])))])]


def _squeezed(s: Sizes, node: Node) -> list[Shape | None]:
    return [tuple([size for axis, size in enumerate(s.of(node.inputs[0])) if axis not in node.params["axis"]])]


def _indexed(s: Sizes, node: Node) -> list[Shape | None]:
    sizes, shape = iter(s.of(node.inputs[0])), list[Size]()
    own = s.own(node.outputs[0])
    for entry in node.params["index"]:
        if entry is None:
            shape.append(1)
            continue
        size = next(sizes)
        if type(entry) is tuple:
            full = entry in ((None, None, None), (None, None, -1))
            shape.append(size if full else own[len(shape)] if "?" in entry or isinstance(size, int) else
                         s.of_sizes("slice", size, entry))
    return [(*shape, *sizes)]


def _concat(s: Sizes, node: Node) -> list[Shape | None]:
    shapes, along = [s.of(x) for x in node.inputs], node.params["axis"]
    result: list[Size] = []
    for axis, sizes in enumerate(zip(*shapes, strict=True)):
        if axis == along:
            open_ = [size for size in sizes if isinstance(size, Symbol)]
            known = sum([size for size in sizes if isinstance(size, int)])
            result.append(s.of_sizes("sum", known, *open_) if open_ and (known or len(open_) > 1) else
                          open_[0] if open_ else known)
        else:
            result.append(next((size for size in sizes if isinstance(size, int)), sizes[0]))
    return [tuple(result)]


def _split(s: Sizes, node: Node) -> list[Shape | None]:
    shape, along, sections = s.of(node.inputs[0]), node.params["axis"], node.params["sections"]
    size, results = shape[along], list[Shape | None]()
    for value in node.outputs:
        part = s.own(value)[along]
        if isinstance(size, Symbol) and isinstance(part, Symbol):
            part = s.of_sizes("part", size, sections)
        results.append((*shape[:along], part, *shape[along + 1:]))
    return results


def _stack(s: Sizes, node: Node) -> list[Shape | None]:
    shape, axis = s.of(node.inputs[0]), node.params["axis"]
    return [(*shape[:axis], len(node.inputs), *shape[axis:])]


def _broadcast_to(s: Sizes, node: Node) -> list[Shape | None]:
    asked = s.asked(node)
    return [tuple([mine if size is None else size for mine, size in zip(s.own(node.outputs[0]), asked, strict=True)])]


def _reshaped(s: Sizes, node: Node) -> list[Shape | None]:
    shape, own = s.of(node.inputs[0]), s.own(node.outputs[0])
    asked = [size if mine is None or isinstance(mine, Symbol) else mine for mine, size in zip(
        own, s.asked(node), strict=True)]
    result: list[Size] = []
    for k, (mine, size) in enumerate(zip(own, asked, strict=True)):
        others = [other for j, other in enumerate(asked) if j != k]
        if size == -1 and all(is_size(other) for other in others):
            size = _quotient(s, shape, others)  # type: ignore[arg-type]
        result.append(size if size is not None and is_size(size) else mine)
    return [tuple(result)]


def _quotient(s: Sizes, whole: Shape, parts: Sequence[Size]) -> Size | None:
    """The size that is left of a tensor's elements: none of the parts is 0, else the op raises."""
    (count, above), (divisor, below) = map(factors_of, (whole, parts))
    common = above & below
    above, below = above - common, below - common
    if divisor and count % divisor == 0 and not below:
        return s.product(count // divisor, [*above.elements()])
    return s.of_sizes("quotient", count, divisor, *sorted(above.elements(), key=id), "by",
                      *sorted(below.elements(), key=id))


def _pool(s: Sizes, node: Node) -> list[Shape | None]:
    shape, own = s.of(node.inputs[0]), s.own(node.outputs[0])
    return [(shape[0], *own[1:-1], shape[-1])]


def _conv(s: Sizes, node: Node) -> list[Shape | None]:
    own = s.own(node.outputs[0])
    return [(s.of(node.inputs[0])[0], *own[1:])]


def _conv_gradient(s: Sizes, node: Node) -> list[Shape | None]:
    asked = s.asked(node, 2)
    return [tuple([mine if size is None else size for mine, size in zip(s.own(node.outputs[0]), asked, strict=True)])]


def _gather(s: Sizes, node: Node) -> list[Shape | None]:
    (x, places), axis, batch = (s.of(value) for value in node.inputs), node.params["axis"], node.params["batch_dims"]
    s.meet(x[:batch], places[:batch])
    return [(*x[:axis], *places[batch:], *x[axis + 1:])]


def _scattered(s: Sizes, node: Node) -> list[Shape | None]:
    x, places, updates = (s.of(value) for value in node.inputs)
    s.meet(places[:-1], updates[:len(places) - 1])
    return [x]


def _range(s: Sizes, node: Node) -> list[Shape | None]:
    start, limit, delta = (s.number(x) for x in node.inputs)
    counts = start == 0 and delta == 1 and limit is not None and is_size(limit)
    return [(limit,) if counts and limit is not None else s.own(node.outputs[0])]


# Lists.

def _list_new(s: Sizes, node: Node) -> list[Shape | None]:
    shape: Shape | None = None
    s.numbers[node.outputs[0]] = ()
    for item in node.inputs:
        shape = _both(s, node.outputs[0], shape, s.of(item))
        _add_item(s, node.outputs[0], node.outputs[0], item)
    return [shape]


def _add_item(s: Sizes, made: Value, old: Value, item: Value) -> None:
    """Record what the items of a list are."""
    number = s.number(item)
    found = either(s.numbers.get(old), None if number is None else (number,))
    s.numbers.pop(made, None)
    if found is not None:
        s.numbers[made] = found


def _both(s: Sizes, value: Value, x: Shape | None, y: Shape | None) -> Shape | None:
    """The sizes of a list's elements, of which some have the shape `x`, some `y`."""
    if x is None or y is None:
        return x or y
    return tuple([a if a == b else mine for mine, a, b in zip(s.own(value), x, y, strict=True)])


def _with_item(s: Sizes, node: Node) -> list[Shape | None]:
    made = node.outputs[0]
    _add_item(s, made, node.inputs[0], node.inputs[-1])
    return [_both(s, made, s.shapes.get(node.inputs[0], s.own(made)), s.of(node.inputs[-1]))]


def _with_items(s: Sizes, node: Node) -> list[Shape | None]:
    made = node.outputs[0]
    return [_both(s, made, *[s.shapes.get(x, s.own(made)) for x in node.inputs])]


def _list_get(s: Sizes, node: Node) -> list[Shape | None]:
    found = s.numbers.get(node.inputs[0])
    s.numbers.pop(node.outputs[0], None)
    if found:
        s.numbers[node.outputs[0]] = found
    return [tuple([mine if isinstance(size, Symbol) and size.is_several else size for mine, size in zip(
        s.own(node.outputs[0]), s.of(node.inputs[0]), strict=True)])]


_Rule = Callable[["Sizes", Node], "list[Shape | None]"]
RULES: Final[dict[str, _Rule]] = {
    **dict.fromkeys((*ELEMENTWISE, "where"), _elementwise),
    **dict.fromkeys(_SAME, _first),
    **dict.fromkeys((*_REDUCTIONS, "argmax", "argmin"), _reduced),
    "det": _of_matrices, "slogdet": _of_matrices, "eigh": _eigh, "svd": _svd, "qr": _qr,
    "matmul": _matmul, "solve": _solve, "transpose": _transposed, "expand_dims": _expanded, "squeeze": _squeezed,
    "getitem": _indexed, "concat": _concat, "split": _split, "stack": _stack, "broadcast_to": _broadcast_to,
    "reshape": _reshaped, "max_pool": _pool, "max_pool_argmax": _pool, "conv": _conv, "conv_input": _conv_gradient,
    "conv_filters": _conv_gradient, "gather": _gather, "scatter": _scattered, "range": _range, "list_new": _list_new,
    "list_append": _with_item, "list_set": _with_item, "list_extend": _with_items, "list_get": _list_get}
