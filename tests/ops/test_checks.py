"""Arguments that do not fit: the same errors eagerly, in graphs, for known shapes and for unknown ones."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.core.graph import Graph
from runtime.core.trace import add_input, tracing
from runtime.core.types import TensorType, int32
from runtime.errors import InvalidArgumentError, ShapeError
from runtime.ops.checks import all_of, message, require, same

F3 = np.ones((3, 3), np.float32)
IMAGE = np.ones((4, 4, 1), np.float32)


def ints(*values: int) -> Any:
    return np.array(values, np.int32)


def one(value: int) -> Any:
    return np.int32(value)


def crop(x: Any, top: Any) -> Any:
    return rt.image.crop_to_bounding_box(x, top, 0, 3, 3)


def element(x: Any) -> Any:
    return rt.TensorArray(rt.float32, 2, element_shape=[3]).write(0, x).write(1, x).stack()


def rows(x: Any) -> Any:
    return rt.TensorArray(rt.float32, 2, element_shape=[3]).unstack(x).read(1)


FITS: list[tuple[str, Callable[..., Any], tuple[Any, ...], Any]] = [
    ("range", lambda n: rt.range(0, n, 2), (one(3),), [0, 2]),
    ("set_diag", rt.linalg.set_diag, (F3[:2, :2], np.array([2, 3], np.float32)), [[2, 1], [1, 3]]),
    ("set_diag wide", lambda x, d: rt.linalg.set_diag(x, d, k=1), (F3[:2], np.array([2, 3], np.float32)),
     [[1, 2, 1], [1, 1, 3]]),
    ("repeat", rt.repeat, (ints(4, 5, 6), ints(1, 0, 2)), [4, 6, 6]),
    ("repeat by one", rt.repeat, (ints(4, 5, 6), ints(2)), [4, 4, 5, 5, 6, 6]),
    ("dynamic_partition", lambda x, p: rt.dynamic_partition(x, p, 2)[1], (ints(4, 5, 6), ints(1, 0, 1)), [4, 6]),
    ("unravel_index", lambda i: rt.unravel_index(i, [2, 3]), (one(5),), [1, 2]),
    ("crop", crop, (IMAGE, one(1)), IMAGE[:3, :3].tolist()),
    ("element_shape", element, (F3[0],), [[1, 1, 1], [1, 1, 1]]),
    ("element_shape of rows", rows, (F3[:2],), [1, 1, 1]),
]

WRONG: list[tuple[str, Callable[..., Any], tuple[Any, ...], type[Exception], str]] = [
    ("range", lambda n: rt.range(0, n, 0), (one(3),), InvalidArgumentError, r"range takes a delta that is not 0"),
    ("set_diag", rt.linalg.set_diag, (F3, F3[0, :2]), ShapeError, r"set_diag .* of the shape \[3\] here, not \[2\]"),
    ("set_diag long", rt.linalg.set_diag, (F3[:2], F3[0]), ShapeError, r"the shape \[2\] here, not \[3\]"),
    ("set_diag band", lambda x, d: rt.linalg.set_diag(x, d, k=(0, 1)), (F3, F3), ShapeError,
     r"set_diag takes .*2.*diagonals|set_diag .* of the shape \[2, 3\] here, not \[3, 3\]"),
    ("repeat", rt.repeat, (ints(4, 5, 6), ints(1, 2)), ShapeError, r"one for each of the 3 elements .*, not 2"),
    ("repeat long", rt.repeat, (ints(4, 5), ints(1, 0, 0)), ShapeError, r"one for each of the 2 elements .*, not 3"),
    ("dynamic_partition", lambda x, p: rt.dynamic_partition(x, p, 2), (ints(4, 5, 6), ints(0, 2, 1)),
     InvalidArgumentError, r"dynamic_partition takes numbers from 0 to 1, not \[0 2 1\]"),
    ("negative partition", lambda x, p: rt.dynamic_partition(x, p, 2), (ints(4, 5), ints(0, -1)),
     InvalidArgumentError, r"dynamic_partition takes numbers from 0 to 1, not \[ *0 -1\]"),
    ("unravel_index", lambda i: rt.unravel_index(i, [2, 2]), (one(4),), InvalidArgumentError,
     r"unravel_index takes indices, from 0, .* \[2 2\], not 4"),
    ("negative index", lambda i: rt.unravel_index(i, [2, 2]), (ints(0, -1),), InvalidArgumentError,
     r"unravel_index takes indices, from 0, .* \[2 2\], not \[ *0 -1\]"),
    ("crop", crop, (IMAGE, one(2)), ShapeError, r"height 3 at 2 in an image of the height 4"),
    ("negative crop", crop, (IMAGE, one(-1)), ShapeError, r"height 3 at -1 in an image of the height 4"),
    ("element_shape", element, (F3[0, :2],), ShapeError, r"has the shape \[2\], but|shape for value \(\(2,\)\)"),
    ("element_shape of rows", rows, (F3[:2, :2],), ShapeError, r"the shape \[2, 2\], but|shape for value \(\(2,\)\)"),
]

WAYS = pytest.mark.parametrize("way", ["eager", "numpy", "native", "numpy unknown", "native unknown"])


def run(function: Callable[..., Any], arrays: tuple[Any, ...], way: str) -> Any:
    tensors = [rt.constant(x) for x in arrays]
    if way == "eager":
        return function(*tensors)
    executor, *unknown = way.split()
    specs = [rt.TensorSpec([None] * x.ndim if unknown else x.shape, x.dtype) for x in tensors]
    return rt.function(lambda *args: function(*args), executor=executor).get_concrete_function(*specs)(*tensors)


@WAYS
@pytest.mark.parametrize(("function", "arrays", "expected"), [case[1:] for case in FITS], ids=[c[0] for c in FITS])
def test_what_fits(function: Callable[..., Any], arrays: Any, expected: Any, way: str) -> None:
    assert np.asarray(run(function, arrays, way)).tolist() == expected


@WAYS
@pytest.mark.parametrize(("function", "arrays", "kind", "text"), [c[1:] for c in WRONG], ids=[c[0] for c in WRONG])
def test_what_does_not(function: Callable[..., Any], arrays: Any, kind: type[Exception], text: str, way: str) -> None:
    with pytest.raises(kind, match=rf"(?s)test_checks.py:\d+: .*({text})"):
        run(function, arrays, way)


def test_known_conditions_are_decided_at_once() -> None:
    assert same(2, 2) is True and same(2, 3) is False and all_of(True, 1) is True and all_of(True, False) is False
    assert message("of ", 2, " and ", [1, 2]) == "of 2 and [1, 2]"
    graph = Graph("checks")
    with tracing(graph):
        n = add_input(graph, TensorType(int32))
        assert all_of(False, n > 0) is False
        require(all_of(True, 2 > 1), ShapeError("never"))
        assert [node.op.name for node in graph.nodes] == ["const", "greater"]
        with pytest.raises(ShapeError, match=r"test_checks.py:\d+: now"):
            require(all_of(False, n > 0), ShapeError("now"))
        require(all_of(True, same(n, 2)), ShapeError(message("later: ", n)))
    assert graph.nodes[-1].op.name == "raise_unless"
