"""`rt.function(verify=True)`: each call also runs as Python on eager tensors, with the same effects required.

The traced function runs first; then its variables and random sources are restored, and the Python function runs on
copies of its arguments. Tensors, being immutable, are shared. The effects that remain are those of the traced run.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from autograph.backend import Difference, changed_arguments, check, compare, copied, observe, running, unwrap
from runtime.core.config import running_eagerly, settings
from runtime.core.graph import Graph
from runtime.core.tensor import Tensor
from runtime.core.trace import current_graph
from runtime.core.traceback_replay import show_users
from runtime.core.variable_bindings import Placeholder
from runtime.function.arguments.argument_structure import walk
from runtime.function.function import Function
from runtime.function.variables.variable import Variable
from runtime.ops.random_sources import Source
from runtime.staging.values.iterables import Poison

__all__ = ["VerifiedFunction"]


class VerifiedFunction(Function):
    """A Function that compares each call with the Python function."""

    shares = False  # the comparison makes traces of its own

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            instance = None if self._instance is None else self._instance()
            return verified_call(self.python_function, instance, super().__call__, self._graph, args, kwargs,
                                 self._forms.captured)
        except BaseException as error:
            show_users(error)
            raise

    def _graph(self, *args: Any, **kwargs: Any) -> Graph:
        return self._find_or_trace(self._arguments(args, kwargs)).graph


def verified_call(
    python: Callable[..., Any], instance: Any, traced: Callable[..., Any], trace: Callable[..., Graph],
    args: tuple[Any, ...], kwargs: dict[str, Any], arrays: Sequence[Any] = (),
) -> Any:
    """The result of `traced(*args, **kwargs)`, compared with that of `python`. `trace` returns the graph that will run,
    and adds the NumPy arrays that it changes and that are not arguments to `arrays`.

    `instance` is the first argument of `python` if it is a method, else None. Calls in graphs and within a verified
    call are not verified. VerificationError at the first difference.
    """
    if running.get() or current_graph() is not None or settings.run_eagerly:
        return traced(*args, **kwargs)
    own, own_args, own_kwargs = copied((instance, args, kwargs), lambda x: isinstance(x, (Tensor, Variable)))
    own_args = own_args if own is None else (own, *own_args)
    try:
        graph = trace(*args, **kwargs)
    except Exception:
        return traced(*args, **kwargs)  # there is no graph to compare: raises the error
    passed = (x for _, x in walk([args, kwargs], "") if isinstance(x, Variable))
    stateful = {id(x): x for x in (*passed, *_stateful(graph), *arrays) if not isinstance(x, Placeholder)}
    before = [_state(x) for x in stateful.values()]
    code = unwrap(python).__code__
    got = observe(lambda: traced(*args, **kwargs), "converted", code)
    after = [_state(x) for x in stateful.values()]
    _restore(stateful, before)
    try:
        with running_eagerly():
            expected = observe(lambda: python(*own_args, **own_kwargs), "python", code)
            states = [_state(x) for x in stateful.values()]
    finally:
        _restore(stateful, after)
    difference = compare(expected, got, code, _same, exact=False)
    if difference is None:
        for x, want, have in zip(stateful.values(), states, after):
            if not isinstance(x, Source) and not _same(want, have):
                changed = f"the variable '{x.name}'" if isinstance(x, Variable) else "an array from outside"
                what = f"after {code.co_name} {changed} is {want} as Python, but {have} converted"
                difference = Difference(what, expected.returned or code.co_firstlineno, code.co_filename)
                break
    if difference is None:
        actual_args = args if own is None else (instance, *args)
        what = changed_arguments(python, (own_args, own_kwargs), (actual_args, kwargs), _same)
        if what:
            difference = Difference(what, expected.returned or code.co_firstlineno, code.co_filename)
    return check(difference, got)


def _stateful(graph: Graph) -> Iterator[Variable | Source]:
    """The variables and random sources that a graph uses."""
    for node in graph.nodes:
        for value in node.params.values():
            if isinstance(value, (Variable, Source)):
                yield value
            elif isinstance(value, Graph):
                yield from _stateful(value)


def _state(x: Any) -> Any:
    """The state of a variable, random source or array."""
    return x.array if isinstance(x, Variable) else x.state if isinstance(x, Source) else x.copy()


def _restore(stateful: dict[int, Any], states: list[Any]) -> None:
    for x, state in zip(stateful.values(), states):
        if isinstance(x, Variable):
            x.array = state
        elif isinstance(x, Source):
            x.state = state
        else:
            x[...] = state


def _same(expected: Any, got: Any) -> bool:
    """Whether two values are equal. A number may equal a scalar tensor; floats need only be close, since a graph may
    sum in another order."""
    if isinstance(got, Poison):  # a value of the graph that the trace left in an object
        return False
    if isinstance(expected, Tensor) and isinstance(got, Tensor) and expected.dtype is not got.dtype:
        return False
    if not _is_array(expected) or not _is_array(got):
        equal = expected == got
        return not getattr(equal, "ndim", 0) and bool(equal)  # an array beside a list compares element by element
    a, b = np.asarray(expected), np.asarray(got)
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "fc" or b.dtype.kind in "fc":
        half = any(x.dtype.itemsize < 4 for x in (a, b) if x.dtype.kind == "f")
        return bool(np.allclose(a, b, rtol=1e-2 if half else 1e-5, atol=1e-6, equal_nan=True))
    return bool(np.array_equal(a, b))


def _is_array(value: Any) -> bool:
    return isinstance(value, (Tensor, np.ndarray, np.generic, bool, int, float, complex))
