"""Derivatives of functions as functions, with JAX's names.

They run `f` once: eagerly, or into the graph of a function being traced; tensor-dependent control flow is converted as
usual. They compose with each other and with `rt.function`.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from autograph.backend import deferred
from runtime.autodiff.accumulator import ForwardAccumulator
from runtime.autodiff.activity import differentiable
from runtime.autodiff.custom import traceable
from runtime.autodiff.tape import GradientTape, warn
from runtime.core import pytree
from runtime.core.errors import DTypeError, ShapeError
from runtime.core.op import CAST
from runtime.core.positions import located
from runtime.core.recording import record, recorders
from runtime.core.tensor import EagerTensor, Tensor
from runtime.core.trace import apply, convert_to_tensor, current_graph
from runtime.function.variables.variable import Variable
from runtime.ops.concat_split import concat
from runtime.ops.creation import one_hot
from runtime.ops.creation import range as rt_range
from runtime.ops.shape import reshape, shape, size, stack, transpose
from runtime.ops.shape_refinement import assume_shape

if TYPE_CHECKING:
    from runtime.batching import vmap
else:
    vmap = deferred("runtime.batching.vmap")

__all__ = ["grad", "hessian", "jacfwd", "jacrev", "jvp", "value_and_grad", "vjp"]

_DETACHED: Final = (
    "this takes the value of a tensor as a plain number or array, and what is computed with that counts as a constant "
    "in the derivative: use functions of rt or of NumPy on the tensor, or differentiate an rt.function")


class _Tape(GradientTape):
    def taken(self, tensor: Any) -> None:
        if self.wants(tensor):
            warn(_DETACHED)


class _Accumulator(ForwardAccumulator):
    def taken(self, tensor: Any) -> None:
        if self.has_tangent(tensor):
            warn(_DETACHED)


Function = Callable[..., Any]
Argnums = int | Sequence[int]


def _own(x: Any) -> Any:
    """A new tensor with the same value, so that uses by `f` are distinct from those of captured tensors. DTypeError for
    an int or bool."""
    if isinstance(x, Variable):
        return x
    x = convert_to_tensor(x)
    if not differentiable(x.type):
        raise located(DTypeError(f"a derivative by an argument of dtype {x.dtype.name} does not exist",
                                  remedy="Give it as a float, for example rt.cast(x, rt.float32); or say with argnums= "
                                         "by which arguments to differentiate."))
    if isinstance(x, EagerTensor) and current_graph() is None:
        made = EagerTensor.own(x._array)
        if recorders:
            record(CAST, [x], [x._array], made, {"dtype": x.dtype})
        return made
    return apply(CAST, x, dtype=x.dtype)


def _placed(args: tuple[Any, ...], argnums: Argnums) -> tuple[list[Any], Any]:
    """The arguments, with the differentiated ones replaced by new tensors; and these, a single one or a tuple."""
    numbers = list(argnums) if isinstance(argnums, Sequence) else [argnums]
    made = list(args)
    for i in numbers:
        if not -len(args) <= i < len(args):
            raise located(ValueError(f"argnums has {i}, but there are {len(args)} positional arguments"))
        made[i] = pytree.map_structure(_own, args[i])
    sources = [made[i] for i in numbers]
    return made, tuple(sources) if isinstance(argnums, Sequence) else sources[0]


def _same_structure(expected: Any, actual: Any, what: str, of: str) -> None:
    try:
        pytree.assert_same_structure(expected, actual, check_types=False)
    except (TypeError, ValueError) as e:
        raise located(type(e)(f"the {what} must have the structure of {of}: {e}")) from None


def value_and_grad(f: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The function that returns `f(...)`, a floating scalar, and its gradient (`jax.value_and_grad`).

    argnums  the positional arguments to differentiate by, an int or several; these are floating tensors, or structures
             of them, and the gradient has their structure
    has_aux  `f` returns a pair, whose second part is passed on: `((value, aux), gradient)`

    ShapeError if the value is not a scalar; DTypeError for ints.
    """
    @functools.wraps(f, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        made, sources = _placed(args, argnums)
        tape = _Tape(watch_accessed_variables=False)
        with tape:
            tape.watch(sources)
            returned = traceable(f)(*made, **kwargs)
        value, aux = returned if has_aux else (returned, None)
        value = _scalar(f, value)
        found = tape.dense_gradient(value, sources, unconnected_gradients="zero")
        return ((value, aux), found) if has_aux else (value, found)

    return call


def _scalar(f: Function, value: Any) -> Any:
    name = getattr(f, "__name__", "f")
    if not isinstance(value, (Tensor, int, float)) and not hasattr(type(value), "__tensor__"):
        raise located(DTypeError(f"the gradient is of a function that gives a scalar, but {name} gave {value!r}",
                                  remedy="Return one tensor; has_aux=True hands on a second result."))
    value = convert_to_tensor(value)
    if value.type.shape != ():
        raise located(ShapeError(
            f"the gradient is of a function that gives a scalar, but {name} gave {value.type}",
            remedy="Sum it, with rt.reduce_sum, or take rt.jacrev or rt.jacfwd."))
    if not differentiable(value.type):
        raise located(DTypeError(f"the gradient is of a floating scalar, but {name} gave {value.type}"))
    return value


def grad(f: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The function that returns the gradient of `f`; with `has_aux` `(gradient, aux)` (`jax.grad`). See
    `value_and_grad`."""
    both = value_and_grad(f, argnums, has_aux)

    @functools.wraps(f, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return call


def vjp(f: Function, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """`f(*primals)`, and the function from its cotangents to a tuple of cotangents of `primals` (`jax.vjp`).

    With `has_aux`, `f` returns a pair, whose second part is the third result.
    """
    made, sources = _placed(primals, tuple(range(len(primals))))
    tape = _Tape(persistent=True, watch_accessed_variables=False)
    with tape:
        tape.watch(sources)
        returned = traceable(f)(*made)
    value, aux = returned if has_aux else (returned, None)
    value = pytree.map_structure(convert_to_tensor, value)

    def pull(cotangents: Any) -> Any:
        _same_structure(value, cotangents, "cotangents", "the function's result")
        return tape.dense_gradient(value, sources, cotangents, unconnected_gradients="zero")

    return (value, pull, aux) if has_aux else (value, pull)


def jvp(f: Function, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> tuple[Any, ...]:
    """`f(*primals)` and its tangent for `tangents`, which have the structure of `primals` (`jax.jvp`).

    With `has_aux`, `f` returns a pair, whose second part is the third result. TypeError if `primals` or `tangents` is
    not a list or tuple.
    """
    if not isinstance(primals, (list, tuple)) or not isinstance(tangents, (list, tuple)):
        raise located(TypeError("primals and tangents are tuples or lists, with one item for each argument of the "
                                 "function"))
    made, sources = _placed(tuple(primals), tuple(range(len(primals))))
    _same_structure(tuple(primals), tuple(tangents), "tangents", "the primals")
    with _Accumulator(sources, tuple(tangents)) as accumulator:
        returned = traceable(f)(*made)
        value, aux = returned if has_aux else (returned, None)
        value = pytree.map_structure(convert_to_tensor, value)
        found = accumulator.jvp(value, unconnected_gradients="zero")
    return (value, found, aux) if has_aux else (value, found)


def jacrev(f: Function, argnums: Argnums = 0) -> Function:
    """The function that returns the Jacobian of `f`, by reverse mode, efficient for few results (`jax.jacrev`).

    For each tensor in the result of `f`, in the result's structure, it has the structure of the arguments, with tensors
    of shape `result.shape + argument.shape`.
    """
    @functools.wraps(f, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        made, sources = _placed(args, argnums)
        tape = _Tape(persistent=True, watch_accessed_variables=False)
        with tape:
            tape.watch(sources)
            value = pytree.map_structure(convert_to_tensor, traceable(f)(*made, **kwargs))
        return pytree.map_structure(lambda x: tape.jacobian(x, sources, unconnected_gradients="zero"), value)

    return call


def jacfwd(f: Function, argnums: Argnums = 0) -> Function:
    """The function that returns the Jacobian of `f`, by forward mode, efficient for few arguments (`jax.jacfwd`). See
    `jacrev`."""
    @functools.wraps(f, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        made, sources = _placed(args, argnums)
        flat = pytree.flatten(sources)
        columns = [_columns(f, made, kwargs, flat, k) for k in range(len(flat))]
        results = [pytree.pack_sequence_as(sources, [pytree.flatten(column)[i] for column in columns])
                   for i in range(len(pytree.flatten(columns[0])))]
        return _packed(columns[0], results)

    return call


def _packed(like: Any, results: list[Any]) -> Any:
    """The structures `results` in place of the leaves of `like`."""
    parts = iter(results)
    return pytree.map_structure(lambda _: next(parts), like)


def _columns(f: Function, args: list[Any], kwargs: dict[str, Any], sources: list[Any], k: int) -> Any:
    """The Jacobian of `f` with respect to source number `k`."""
    x = convert_to_tensor(sources[k])
    count = size(x)

    def column(i: Any) -> Any:
        direction = reshape(one_hot(i, count, dtype=x.dtype), shape(x))
        with _Accumulator(sources[k], direction) as accumulator:
            value = pytree.map_structure(convert_to_tensor, traceable(f)(*args, **kwargs))
            return accumulator.jvp(value, unconnected_gradients="zero")

    if current_graph() is None:
        found = [column(i) for i in range(int(count))]
        rows = pytree.map_structure(lambda *parts: stack(parts), *found) if found else column(0)
    else:
        rows = vmap.vmap(column)(rt_range(count))

    def placed(row: Any) -> Any:
        last = transpose(row, [*range(1, row.ndim), 0])
        made = reshape(last, concat([shape(row)[1:], shape(x)], 0))
        assume_shape(made, (*row.type.shape[1:], *x.type.shape))
        return made

    return pytree.map_structure(placed, rows)


def hessian(f: Function, argnums: Argnums = 0) -> Function:
    """The function that returns the Hessian of `f`, by forward over reverse mode (`jax.hessian`). If arguments are
    structures, it has their structure twice."""
    return jacfwd(jacrev(f, argnums), argnums)
