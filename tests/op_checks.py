"""What must hold between the kernel and the rule of every op: one function for each property, given a sample.

`tests/ops/test_ops_registry.py` holds all ops to them; `tests/test_planted_op_faults.py` sees that they catch faults.
"""
from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from list_samples import LIST_SAMPLES

import runtime  # noqa: F401  registers every op
from runtime.backends.numpy import run
from runtime.core.graph import Graph, Node, Value
from runtime.core.op import Op, Sample
from runtime.core.string_arrays import boxed
from runtime.core.tensor import EagerList
from runtime.core.trace import add_input, apply, set_outputs, tracing
from runtime.core.types import ListType, Type, type_of_array
from runtime.ops.families import OPS as REGISTRY

NEED_A_PLACE = {
    "accumulate_variable": "its param is a variable: function/variables/test_variable.py",
    "assert_compare": "it raises: ops/test_effects.py",
    "assign_variable": "its param is a variable: function/variables/test_variable.py",
    "check": "it raises: ops/test_effects.py",
    "check_bound": "it raises: staging/test_staging.py",
    "cond": "its params are graphs: staging/test_staging.py",
    "custom_gradient": "its param is a graph: autodiff/test_custom_gradient.py",
    "error_part": "it belongs to a try_: staging/control/test_exceptions.py",
    "error_text": "it belongs to a try_: staging/control/test_exceptions.py",
    "hold_error": "it belongs to a try_: autodiff/test_gradients_of_handlers.py",
    "iterator_next": "its param is a dataset's iterator: data/test_dataset.py",
    "iterator_next_or_none": "its param is a dataset's iterator: data/test_dataset.py",
    "iterator_start": "its param is a dataset: data/test_dataset.py",
    "keep": "it belongs to a try_: staging/control/test_exceptions.py",
    "call": "it runs a graph: staging/control/test_recursion.py",
    "numpy_function": "it runs the user's code: ops/test_effects.py",
    "print": "it prints: ops/test_effects.py",
    "py_function": "it runs the user's code: ops/test_effects.py",
    "raise": "it raises: ops/test_effects.py",
    "raise_unless": "it raises: ops/test_effects.py",
    "read_variable": "its param is a variable: function/variables/test_variable.py",
    "reduce": "its params are graphs: staging/test_staging.py",
    **{f"table_{name}": "its param is a table: ops/test_mutable_tables.py"
       for name in ("count", "erase", "export", "write")},
    "reraise": "it belongs to a try_: staging/control/test_exceptions.py",
    "try_": "its params are graphs: staging/control/test_exceptions.py",
    "while_loop": "its params are graphs: staging/test_staging.py",
}
"""Ops that cannot have samples, and where they are tested."""


def samples(op: Op, seed: int = 0) -> list[Sample]:
    return [*op.samples(np.random.default_rng(seed)), *LIST_SAMPLES.get(op.name, ())]


def sampled_ops() -> Iterator[Op]:
    return (op for name, op in REGISTRY.items() if name not in NEED_A_PLACE)


def is_of_strings(op: Op) -> bool:
    """Whether it takes or gives strings, which have no derivative, no native code and no lanes."""
    return any(type.dtype.is_string for arguments, params in op.samples(np.random.default_rng(0))
               for type in _types(op, arguments, params) if hasattr(type, "dtype"))


def _types(op: Op, arguments: tuple[Any, ...], params: dict[str, Any]) -> tuple[Type, ...]:
    types = tuple(map(type_of, arguments))
    results = op.rule(*types, **params)
    return types + (results if isinstance(results, tuple) else (results,))


def type_of(value: Any) -> Type:
    """The type of an argument: an array, or a list."""
    return value.type if isinstance(value, EagerList) else type_of_array(value)


def fits(type: Type, value: Any) -> bool:
    """Whether a result, an array or the elements of a list, is of a type. An element that is None is not written."""
    if isinstance(type, ListType):
        return all(type.element.accepts(type_of_array(item)) for item in value if item is not None)
    return type.accepts(type_of_array(value))


def value_of(argument: Any) -> Any:
    return argument.items if isinstance(argument, EagerList) else argument


def forgotten(type: Type) -> Type:
    """The type without its dims."""
    if isinstance(type, ListType):
        return ListType(type.element.with_shape((None,) * type.element.ndim))
    return type.with_shape((None,) * type.ndim)


def with_params(op: Op, sample: Sample) -> Sample:
    """The sample with params of its own: random sources start again."""
    return sample[0], copy.deepcopy(sample[1])


def check_kernel(op: Op, sample: Sample) -> None:
    """The kernel gives just what the rule says, and leaves its arguments as they were."""
    arguments, params = with_params(op, sample)
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            argument.setflags(write=False)
    want = op.rule(*map(type_of, arguments), **params)
    with np.errstate(all="ignore"):
        got = op.kernel(*map(value_of, arguments), **params)
    assert isinstance(want, tuple) is (isinstance(got, tuple) and not isinstance(want, ListType)), (
        f"{op.name}: the rule gives {want}, the kernel {got!r}")
    for type, value in zip(_tuple(want), got if isinstance(want, tuple) else (got,), strict=True):
        assert fits(type, value), f"{op.name}: the rule gives {type}, the kernel {value!r}"


def check_forgetting(op: Op, sample: Sample) -> None:
    """With dims unknown the rule knows less, and nothing else: also where only one argument's are unknown."""
    arguments, params = with_params(op, sample)
    types = [type_of(argument) for argument in arguments]
    exact = _tuple(op.rule(*types, **params))
    for which in [range(len(types)), *([i] for i in range(len(types)))]:
        kept = last_dim_needed(op, types)
        hidden = [forgotten(t) if i in which and i not in kept else t for i, t in enumerate(types)]
        less = _tuple(op.rule(*hidden, **params))
        assert len(exact) == len(less), f"{op.name}: {len(less)} results without dims, else {len(exact)}"
        for known, unknown in zip(exact, less, strict=True):
            assert unknown.accepts(known), f"{op.name}: the rule gives {known}, but without dims {unknown}"


def last_dim_needed(op: Op, types: list[Type]) -> set[int]:
    """Arguments whose dims decide the rank of the result, so that a graph must know them."""
    return {1} if op.name in ("gather_nd", "scatter") else set()


def _tuple(types: Type | tuple[Type, ...]) -> tuple[Type, ...]:
    return types if isinstance(types, tuple) else (types,)


def check_staged(op: Op, sample: Sample) -> None:
    """A graph of the op alone, with its dims known and not, verifies, and runs to what the kernel gives."""
    arguments, params = with_params(op, sample)
    with np.errstate(all="ignore"):
        result = op.kernel(*map(value_of, arguments), **copy.deepcopy(params))
    for hide in (False, True):
        graph = Graph(op.name)
        kept = last_dim_needed(op, [type_of(a) for a in arguments])
        with tracing(graph):
            types = [type_of(a) if not hide or i in kept else forgotten(type_of(a)) for i, a in enumerate(arguments)]
            inputs = [add_input(graph, type) for type in types]
            outputs = apply(op, *inputs, **copy.deepcopy(params))
            set_outputs(graph, outputs if isinstance(outputs, tuple) else (outputs,))
        graph.verify()
        assert op.name in str(graph)
        if params.get("source") is not None:
            continue  # random numbers differ each time
        got = run(graph, [value_of(argument) for argument in arguments])
        for value, a in zip(graph.outputs, got, strict=True):
            assert fits(value.type, a), f"{op.name}: the graph says {value.type}, a run gives {a!r}"
        for a, b in zip(got, result if isinstance(outputs, tuple) else (result,), strict=True):
            if isinstance(a, (np.ndarray, np.generic)):
                np.testing.assert_array_equal(a, b)
            else:
                for x, y in zip(a, b, strict=True):
                    np.testing.assert_array_equal(x, y)


SPECIAL: dict[str, list[Any]] = {
    "b": [False, True], "i": [0, 1, -1, 2, -128, 127], "u": [0, 1, 2, 255],
    "f": [0.0, -0.0, 1.0, -1.5, np.nan, np.inf, -np.inf, 1e30], "c": [0, 1j, complex(np.nan, np.inf), 2],
    "O": [b"", b"a", b"Text", b"\xff"],
}


def check_silence(op: Op, sample: Sample) -> None:
    """A node that declares no errors raises none for any operands of its types, whatever their unknown dims are."""
    arguments, params = with_params(op, sample)
    if not all(isinstance(a, (np.ndarray, np.generic)) for a in arguments):
        return
    kept = last_dim_needed(op, [type_of(a) for a in arguments])
    for hidden in [(), range(len(arguments)), *([i] for i in range(len(arguments)))]:
        hidden = [i for i in hidden if i not in kept]
        graph = Graph(op.name)
        inputs = [Value(graph, forgotten(type_of(a)) if i in hidden else type_of(a)) for i, a in enumerate(arguments)]
        try:
            types = op.rule(*[value.type for value in inputs], **params)
        except (TypeError, ValueError):
            continue
        if Node(graph, op, inputs, params, types).errors:
            continue
        rng = np.random.default_rng(1)
        for _ in range(6):
            shapes = [rng.integers(0, 4, a.ndim) if i in hidden else a.shape for i, a in enumerate(arguments)]
            with np.errstate(all="ignore"):
                pools = [np.array(SPECIAL[a.dtype.kind]).astype(a.dtype) for a in arguments]
                values = [boxed(rng.choice(pool, shape)[()]) for pool, shape in zip(pools, shapes, strict=True)]
                try:
                    op.kernel(*values, **copy.deepcopy(params))
                except Exception as error:
                    raise AssertionError(f"{op.name} declares no errors for {inputs}, but raises {error!r}") from error


CHECKS = (check_kernel, check_forgetting, check_staged)
