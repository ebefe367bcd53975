"""Explicit control flow with TF2's names: `cond`, `case`, `while_loop`, `map_fn`, `scan`, `foldl`, ...

Outside graphs they run in Python; in a traced function they are staged by the same rules as `if`, `while` and `for` in
converted code. There the functions passed to them convert, as callees do.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from autograph.backend import operators
from runtime.core import pytree
from runtime.core.errors import IndexOutOfRangeError, InvalidArgumentError, ShapeError
from runtime.core.graph import Graph
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import add_input, convert_to_tensor, current_graph, tracing
from runtime.core.types import TensorType, int32
from runtime.ops.checks import message, require
from runtime.ops.control import Checkpoint
from runtime.ops.creation import zeros
from runtime.ops.effects import has_raise, raise_error, raise_unless
from runtime.ops.logic import equal
from runtime.ops.math import add, cast
from runtime.ops.shape import dim, stack
from runtime.ops.shape_refinement import assume_shape
from runtime.staging.aliases.body_tracing import Step, Unreachable, checkpoint, rollback
from runtime.staging.backend import BACKEND
from runtime.staging.control.checkpoints import checkpoint_param
from runtime.staging.control.loops import stage_reduce, stage_while
from runtime.staging.values.iterables import Counted, view_of
from runtime.staging.values.list import StagedList
from runtime.staging.values.truthiness import truth

__all__ = ["case", "cond", "foldl", "foldr", "map_fn", "scan", "scan_with_carry", "switch_case", "while_loop"]

Function = Callable[..., Any]


def _callee(fn: Function) -> Function:
    """What to call in place of a function that is passed to one here: in a trace, its converted form."""
    return fn if current_graph() is None else operators.call(fn)


# Branches.

def cond(pred: Any, true_fn: Function | None = None, false_fn: Function | None = None, name: str | None = None) -> Any:
    """`true_fn() if pred else false_fn()` for a bool scalar (`tf.cond`).

    Both return the same structure of tensors and Python values. TypeError if one is not callable, StagingError in a
    graph if the results have no join.
    """
    for what, fn in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(fn):
            raise TypeError(f"{what} must be callable.")
    assert true_fn is not None and false_fn is not None
    return _either(pred, true_fn, false_fn)()


def case(
    pred_fn_pairs: Any, default: Function | None = None, exclusive: bool = False, strict: bool = False,
    name: str = "case",
) -> Any:
    """The result of the function of the first true predicate, else of `default` (`tf.case`).

    `pred_fn_pairs` is a sequence of (bool scalar, function). InvalidArgumentError if none is true and there is no
    `default`; with `exclusive`, also if several are true.
    """
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, Mapping) else list(pred_fn_pairs)
    pairs = [(pred.deref() if hasattr(pred, "deref") else pred, fn) for pred, fn in pairs]
    for pair in pairs:
        if not callable(pair[1]):
            raise TypeError(f"pred_fn_pairs holds pairs of a predicate and a function, not {pair!r}")
    if exclusive:
        count: Any = 0
        for pred, _ in pairs:
            count = add(count, cast(pred, int32))
        raise_unless(count < 2, InvalidArgumentError("case: several predicates hold, though exclusive=True"))

    def none() -> Any:
        raise InvalidArgumentError("case: no predicate holds, and there is no default",
                                   remedy="Give a function as default=.")

    chosen = none if default is None else default
    for pred, fn in reversed(pairs):
        chosen = _either(pred, fn, chosen)
    return chosen()


def _either(pred: Any, then: Function, orelse: Function) -> Function:
    then, orelse = _callee(then), _callee(orelse)
    return lambda: BACKEND.if_exp(pred, lambda: (then(),), lambda: (orelse(),))[0]


def switch_case(branch_index: Any, branch_fns: Any, default: Function | None = None, name: str = "switch_case") -> Any:
    """The result of function number `branch_index` (`tf.switch_case`).

    `branch_fns` are functions, or pairs of (int, function), or a dict of these. An index without a function selects
    `default`, or by default the function with the highest number.
    """
    entries = list(branch_fns.items()) if isinstance(branch_fns, Mapping) else list(branch_fns)
    if not entries:
        raise ValueError("branch_fns must hold at least one function")
    pairs = sorted((entry if isinstance(entry, tuple) else (i, entry) for i, entry in enumerate(entries)),
                   key=lambda pair: int(pair[0]))
    for key, fn in pairs:
        if not callable(fn):
            raise TypeError(f"branch_fns holds functions, not {fn!r} (for {key})")
    if default is None:
        (_, default), pairs = pairs[-1], pairs[:-1]
    chosen = default
    for key, fn in reversed(pairs):
        chosen = _either(equal(branch_index, key), fn, chosen)
    return chosen()


# Loops.

def while_loop(
    cond: Function, body: Function, loop_vars: Any, shape_invariants: Any = None, parallel_iterations: int = 10,
    back_prop: bool = True, swap_memory: bool = False, maximum_iterations: Any = None, name: str | None = None,
    checkpoint_every: Checkpoint = None,
) -> Any:
    """`while cond(*loop_vars): loop_vars = body(*loop_vars)` (`tf.while_loop`).

    `loop_vars` is a sequence of tensors or structures of them; numbers become tensors. Dimensions that the body changes
    become unknown; `shape_invariants`, in the structure of `loop_vars`, fixes them. At most `maximum_iterations`
    iterations. `checkpoint_every`: derivatives save only the state of every k-th iteration and recompute the others;
    other values as for `checkpoint` of `rt.autograph.set_loop_options`. `parallel_iterations`, `back_prop` and
    `swap_memory` have no effect.
    """
    if not callable(cond) or not callable(body):
        raise TypeError(f"'{'body' if callable(cond) else 'cond'}' must be callable.")
    if not pytree.flatten(loop_vars):
        raise ValueError("'loop_vars' must be provided.")
    variables = pytree.map_structure(_as_tensor, loop_vars)
    if current_graph() is None:
        checkpoint_param({"checkpoint": checkpoint_every}, counted=False)
        return _while_eagerly(cond, body, variables, maximum_iterations)

    names = _names(body, variables, len(pytree.flatten(variables)))
    given, cond, body = body, _callee(cond), _callee(body)

    def call(fn: Function, *leaves: Any) -> Any:
        return fn(*_arguments(pytree.pack_sequence_as(variables, leaves)))

    def step(*leaves: Any) -> Sequence[Any]:
        return pytree.flatten(_as_state(given, call(body, *leaves), variables))

    flat = pytree.flatten(variables)
    options: dict[str, Any] = {"maximum_iterations": maximum_iterations, "checkpoint": checkpoint_every}
    if shape_invariants is not None:
        options["shape_invariants"] = dict(zip(names, pytree.flatten(shape_invariants), strict=True))
    result = stage_while(Step(lambda *leaves: call(cond, *leaves)), Step(step), flat, names, options, truth)
    return pytree.pack_sequence_as(variables, result)


def _while_eagerly(cond: Function, body: Function, variables: Any, limit: Any) -> Any:
    left = None if limit is None else int(limit)
    while (left is None or left > 0) and truth(cond(*_arguments(variables))):
        variables = pytree.map_structure(_as_tensor, _as_state(body, body(*_arguments(variables)), variables))
        left = None if left is None else left - 1
    return variables


def _as_tensor(x: Any) -> Any:
    return x if hasattr(type(x), "__leaves__") else convert_to_tensor(x)


def _arguments(variables: Any) -> Sequence[Any]:
    return variables if isinstance(variables, (list, tuple)) else (variables,)


def _as_state(body: Function, result: Any, variables: Any) -> Any:
    """The result of a body in the structure of the loop variables: a single one need not be in a sequence. ValueError
    or TypeError for another structure."""
    try:
        return _in_structure(result, variables)
    except (TypeError, ValueError) as error:
        code = getattr(getattr(body, "__wrapped__", body), "__code__", None)
        where = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
        raise located(type(error)(
            f"the body of while_loop, {getattr(body, '__name__', 'body')!r}{where}, does not return what loop_vars "
            f"has: {error}")) from None


def _in_structure(result: Any, variables: Any) -> Any:
    if not isinstance(variables, (list, tuple)):
        unwrapped = result[0] if isinstance(result, (list, tuple)) and len(result) == 1 else result
        pytree.assert_same_structure(variables, unwrapped)
        return unwrapped
    if len(variables) == 1 and not (isinstance(result, (list, tuple)) and len(result) == 1):
        result = [result]
    pytree.assert_same_structure(list(variables), list(_arguments(result)))
    return pytree.pack_sequence_as(variables, pytree.flatten(result))


def _names(body: Function, variables: Any, count: int) -> list[str]:
    code = getattr(body, "__code__", None)
    names = list(code.co_varnames[:code.co_argcount]) if code is not None else []
    flat = isinstance(variables, (list, tuple)) and count == len(variables)
    return names if flat and len(names) == count else [f"loop variable {i}" for i in range(count)]


# Over the rows of tensors.

def map_fn(
    fn: Function, elems: Any, dtype: Any = None, parallel_iterations: int | None = None, back_prop: bool = True,
    swap_memory: bool = False, infer_shape: bool = True, name: str | None = None, fn_output_signature: Any = None,
) -> Any:
    """`fn` applied to each row of `elems`, stacked (`tf.map_fn`).

    With a structure of tensors as `elems`, `fn` takes a structure of their rows; it may return a structure, each of
    whose tensors is stacked. ShapeError if the results for the rows have different shapes.
    """
    rows, fn = _rows(elems, "map_fn"), _callee(fn)
    if isinstance(rows.length, int) and current_graph() is None:
        results = [fn(rows.item(i)) for i in range(rows.length)]
        return _stacked(results) if results else _empty(lambda: fn(_example(elems)))
    return _collected(rows, lambda item, acc: (fn(item), acc), _traced(lambda: fn(_example(elems))), ())[0]


def scan(
    fn: Function, elems: Any, initializer: Any = None, parallel_iterations: int = 10, back_prop: bool = True,
    swap_memory: bool = False, infer_shape: bool = True, reverse: bool = False, name: str | None = None,
) -> Any:
    """All values of `acc = fn(acc, row)` over the rows of `elems`, stacked (`tf.scan`).

    Starts with `initializer`, or by default with the first row, which is then also the first result. `reverse` goes
    from the last row to the first, and stores each result at the position of its row.
    """
    rows, acc, first = _started(elems, initializer, "scan", reverse)
    fn = _callee(fn)
    if isinstance(rows.length, int) and current_graph() is None:
        results = list(first)
        for i in range(rows.length):
            acc = fn(acc, rows.item(i))
            results.append(acc)
        if not results:
            return _empty(lambda: acc)
        return _stacked(results[::-1] if reverse else results)

    def step(item: Any, acc: Any) -> tuple[Any, Any]:
        acc = fn(acc, item)
        return acc, acc

    return _collected(rows, step, acc, acc, first, reverse)[0]


def scan_with_carry(
    fn: Function, carry: Any, elems: Any = None, length: Any = None, reverse: bool = False,
) -> tuple[Any, Any]:
    """`carry, y = fn(carry, row)` over the rows of `elems`: the last `carry`, and all `y` stacked (`jax.lax.scan`).

    Without `elems` there are `length` rows, each None; `length` also limits the rows of `elems`. `reverse` goes from
    the last row to the first, and stores each `y` at the position of its row. If `y` is None, so is the result.
    """
    rows = Counted(length, lambda i: None) if elems is None else _rows(elems, "scan")
    count, item = rows.length if length is None else length, rows.item
    rows = Counted(count, (lambda i: item(count - 1 - i)) if reverse else item)
    carry, fn = pytree.map_structure(_as_tensor, carry), _callee(fn)
    if isinstance(count, int) and current_graph() is None:
        results = []
        for i in range(count):
            carry, y = fn(carry, rows.item(i))
            results.append(y)
        if not results:
            return carry, _empty(lambda: fn(carry, None if elems is None else _example(elems))[1])
        return carry, None if results[0] is None else _stacked(results[::-1] if reverse else results)
    returned: list[Any] = []

    def example() -> Any:
        returned.append(fn(carry, None if elems is None else _example(elems))[1])
        return () if returned[0] is None else returned[0]

    like = _traced(example)

    def step(row: Any, acc: Any) -> tuple[Any, Any]:
        acc, y = fn(acc, row)
        return () if y is None else y, pytree.pack_sequence_as(carry, pytree.flatten(acc))

    ys, carry = _collected(rows, step, like, carry, reverse=reverse)
    return carry, None if returned[0] is None else ys


def foldl(
    fn: Function, elems: Any, initializer: Any = None, parallel_iterations: int = 10, back_prop: bool = True,
    swap_memory: bool = False, name: str | None = None,
) -> Any:
    """`acc = fn(acc, row)` over the rows of `elems`, from `initializer` or the first row (`tf.foldl`)."""
    return _folded(fn, elems, initializer, "foldl", False)


def foldr(
    fn: Function, elems: Any, initializer: Any = None, parallel_iterations: int = 10, back_prop: bool = True,
    swap_memory: bool = False, name: str | None = None,
) -> Any:
    """`acc = fn(acc, row)` from the last row of `elems` to the first (`tf.foldr`)."""
    return _folded(fn, elems, initializer, "foldr", True)


def _folded(fn: Function, elems: Any, initializer: Any, what: str, reverse: bool) -> Any:
    rows, acc, _ = _started(elems, initializer, what, reverse)
    fn = _callee(fn)
    if isinstance(rows.length, int) and current_graph() is None:
        for i in range(rows.length):
            acc = fn(acc, rows.item(i))
        return acc
    (acc,) = stage_reduce(rows, Step(lambda item, acc: (fn(acc, item),)), None, (acc,), ("acc",), {}, truth)
    return acc


def _rows(elems: Any, what: str) -> Counted:
    """The rows of the tensors in `elems`. ShapeError if their numbers of rows differ, or there are no rows."""
    flat = [convert_to_tensor(x) for x in pytree.flatten(elems)]
    if not flat or any(not x.ndim for x in flat):
        raise located(ShapeError(f"{what} runs over the rows of tensors, and a scalar has none" if flat else
                                 f"{what} needs at least one tensor to run over"))
    sizes = [x.type.shape[0] for x in flat]
    known = sorted({size for size in sizes if size is not None})
    if len(known) > 1:
        raise located(ShapeError(f"{what} runs over tensors of {' and '.join(map(str, known))} rows", remedy=_REMEDY))
    length: Any = known[0] if known else dim(flat[0], 0)
    for x in [x for x, size in zip(flat, sizes, strict=True) if size is None][not known:]:
        require(equal(dim(x, 0), length), ShapeError(
            message(f"{what} runs over tensors of ", length, " and ", dim(x, 0), " rows"), remedy=_REMEDY))
    return Counted(length, lambda i: pytree.pack_sequence_as(elems, [x[i] for x in flat]))


_REMEDY: Final = "Give it tensors with the same number of rows."


def _started(elems: Any, initializer: Any, what: str, reverse: bool) -> tuple[Counted, Any, list[Any]]:
    """The remaining rows, the first accumulated value, and the results so far."""
    rows = _rows(elems, what)
    length, item = rows.length, rows.item
    if initializer is not None:
        if reverse:
            rows = Counted(length, lambda i: item(length - 1 - i))
        return rows, pytree.map_structure(_as_tensor, initializer), []
    if isinstance(length, int) and length < 1:
        raise located(IndexOutOfRangeError(f"{what} of no rows needs an initializer"))
    acc = item(length - 1 if reverse else 0)
    rest = Counted(length - 1, (lambda i: item(length - 2 - i)) if reverse else (lambda i: item(i + 1)))
    return rest, acc, [acc]


def _stacked(results: list[Any]) -> Any:
    columns = zip(*map(pytree.flatten, results), strict=True)
    return pytree.pack_sequence_as(results[0], [stack(list(column)) for column in columns])


def _example(elems: Any) -> Any:
    """Placeholders in the current graph, like a row of `elems`."""
    graph = current_graph()
    assert graph is not None

    def example(x: Any) -> Any:
        x = convert_to_tensor(x)
        return add_input(graph, TensorType(x.dtype, x.type.shape[1:]))

    return pytree.map_structure(example, elems)


_NEVER: Final = object()
"""The result of a function that always raises."""


def _traced(make: Callable[[], Any]) -> Any:
    """The structure and types of the result of `make`, or _NEVER; its trace is rolled back."""
    mark = checkpoint()
    graph = Graph("example", parent=current_graph())
    with tracing(graph, BACKEND):
        try:
            result = pytree.map_structure(lambda x: convert_to_tensor(x).type, make())
        except Unreachable:
            result = _NEVER
        except Exception:
            if not has_raise(graph):  # else it may raise another error before this one
                raise
            result = _NEVER
    rollback(mark)
    return result


def _empty(make: Callable[[], Any]) -> Any:
    """The stack of zero results: tensors with 0 rows. InvalidArgumentError if `make` always raises."""
    like = _traced(make)
    if like is _NEVER:
        raise _no_rows()
    return pytree.map_structure(lambda type: zeros([0, *(d or 0 for d in type.shape)], type.dtype), like)


def _no_rows() -> InvalidArgumentError:
    return InvalidArgumentError("there are no rows, and the function always raises, so the type of its results is not "
                                "known")


def _collected(
    rows: Counted, step: Callable[[Any, Any], tuple[Any, Any]], like: Any, acc: Any, first: Sequence[Any] = (),
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Stage `result, acc = step(row, acc)` over the rows; returns the stacked results and the final `acc`."""
    if like is _NEVER:
        stage_reduce(rows, Step(lambda item, acc: step(item, acc)[1:]), None, (acc,), ("acc",), {}, truth)
        raise_error(_no_rows())
        raise Unreachable
    leaves = pytree.flatten(like)
    types = [x.type if isinstance(x, Tensor) else x for x in leaves]
    done = [[pytree.flatten(result)[k] for result in first] for k in range(len(leaves))]
    lists = [StagedList.from_items(items, type).owner for items, type in zip(done, types, strict=True)]

    def body(item: Any, acc: Any, *lists: Any) -> tuple[Any, ...]:
        result, acc = step(item, acc)
        pytree.assert_same_structure(like, result)
        for list_, x in zip(lists, pytree.flatten(result), strict=True):
            view_of(list_).append(convert_to_tensor(x))
        return acc, *lists

    names = ("acc", *(f"result {k}" for k in range(len(lists))))
    acc, *lists = stage_reduce(rows, Step(body), None, (acc, *lists), names, {}, truth)
    columns = []
    for list_ in map(view_of, lists):
        if reverse:
            list_.reverse()
        column = convert_to_tensor(list_)
        if isinstance(rows.length, int):
            assume_shape(column, [rows.length + len(first), *column.shape[1:]])
        columns.append(column)
    return pytree.pack_sequence_as(like, columns), acc


