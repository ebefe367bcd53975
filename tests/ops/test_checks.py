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
COUNT = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
PREDICTIONS = np.array([[np.inf, 0.9], [np.nan, 0.9], [0.1, 0.9], [0.1, 0.9], [0.1, 0.9]], np.float32)


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


def shaped(*sizes: Any) -> Any:
    def checked(x: Any) -> Any:
        rt.debugging.assert_shapes([(x, sizes)])
        return x

    return checked


def shaped_alike(x: Any, y: Any) -> Any:
    rt.debugging.assert_shapes([(x, "ND"), (y, "D")])
    return x


def sparse_row(places: Any) -> Any:
    return rt.sparse.to_dense(rt.SparseTensor(places[:, None], rt.ones_like(places), [4]))


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
    ("in_top_k", lambda t, p: rt.math.in_top_k(t, p, 1), (ints(0, 1, 1, 2, -1), PREDICTIONS), [False] * 2 + [True]
     + [False] * 2),
    ("in_top_k of int64", lambda t, p: rt.math.in_top_k(t, p, rt.constant(2, rt.int64)), (np.array([0]),
     PREDICTIONS[2:3]), [True]),
    ("cross", rt.linalg.cross, (ints(1, 2, 3), ints(1, 2, 5)), [4, -2, 0]),
    ("diag_part", lambda x: rt.linalg.diag_part(x, k=1), (COUNT,), [2, 6]),
    ("add_n", lambda x, y: rt.add_n([x, y]), (ints(1, 2), ints(3, 4)), [4, 6]),
    ("invert_permutation", rt.math.invert_permutation, (ints(2, 0, 1),), [1, 2, 0]),
    ("reverse_sequence", lambda x, n: rt.reverse_sequence(x, n, seq_axis=1), (COUNT, ints(0, 2)),
     [[1, 2, 3], [5, 4, 6]]),
    ("squeeze of an axis twice", lambda x: rt.squeeze(x, [0, -3]), (COUNT[None],), COUNT.tolist()),
    ("fftshift of an axis twice", lambda x: rt.signal.fftshift(x, [1, 1]), (COUNT,), [[2, 3, 1], [5, 6, 4]]),
    ("band_part", rt.linalg.band_part, (COUNT, np.int64(0), np.int64(1)), [[1, 2, 0], [0, 5, 6]]),
    ("one_hot", rt.one_hot, (ints(0), one(2)), [[1, 0]]),
    ("eye", lambda n: rt.eye(2, n), (one(1),), [[1], [0]]),
    ("histogram", lambda x, ends: rt.histogram_fixed_width(x, ends, 3), (F3[0, :2], np.array([0, 5], np.float32)),
     [2, 0, 0]),
    ("lu", lambda x: rt.linalg.lu(x)[1], (np.array([[1.0, 2.0], [3.0, 4.0]]),), [1, 0]),
    ("lu of nothing", lambda x: rt.linalg.lu(x)[0], (np.zeros((0, 2, 2)),), []),
    ("boxes", lambda x: rt.image.draw_bounding_boxes(x, [[[0.0, 0, 1, 1]]], [[9.0]])[0, 1, :, 0], (IMAGE[None],),
     [9, 1, 1, 9]),
    ("pad of bools", lambda x: rt.pad(x, [[1, 0]]), (np.array([True]),), [False, True]),
    ("colours of a pixel", rt.image.hsv_to_rgb, (np.array([0.0, 1.0, 1.0]),), [1, 0, 0]),
    ("colours of a row", lambda x: rt.image.rgb_to_yuv(x)[:, 0], (np.array([[1.0, 0.0, 0.0]]),), [0.299]),
    ("gather", lambda x, i: rt.gather(x, i, batch_dims=-1), (COUNT, ints(0, 2)[:, None]), [[1], [6]]),
    ("divide_no_nan", lambda x: rt.math.divide_no_nan(x, [0, 2]), (ints(1, 2),), [0, 1]),
    ("assert_shapes", shaped("N", 3), (COUNT,), COUNT.tolist()),
    ("assert_shapes of last axes", shaped("*", "N", 3), (COUNT,), COUNT.tolist()),
    ("assert_shapes of any axes", shaped(..., None), (COUNT,), COUNT.tolist()),
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
    ("cross", rt.linalg.cross, (ints(1, 2, 3, 4), ints(1, 2, 3, 5)), ShapeError, r"cross takes two tensors of one"),
    ("diag_part", lambda x: rt.linalg.diag_part(x, k=5), (COUNT,), InvalidArgumentError,
     r"the shape \[2, 3\] has no diagonals from 5 to 5"),
    ("histogram", lambda x, ends: rt.histogram_fixed_width(x, ends, 3), (F3[0, :2], np.array([5, 0], np.float32)),
     InvalidArgumentError, r"first end is less than the second, not \[5. 0.\]"),
    ("bins", lambda x, n: rt.histogram_fixed_width(x, [0.0, 5.0], n), (F3[0, :2], one(0)), InvalidArgumentError,
     r"a histogram takes 1 bin or more, not 0"),
    ("add_n", lambda x, y: rt.add_n([x, y]), (ints(1, 2), ints(1)), ShapeError, r"one shape, not \[2\] and \[1\]"),
    ("accumulate_n", lambda x, y: rt.math.accumulate_n([x, y]), (ints(1, 2), one(1)), ShapeError,
     r"one shape, not \[2\] and \[\]"),
    ("add_n of nothing", lambda x: rt.add_n([]), (one(1),), ValueError, r"add_n takes a list of at least one tensor"),
    ("invert_permutation", rt.math.invert_permutation, (ints(2, 2, 1),), InvalidArgumentError,
     r"takes each number once, not \[2 2 1\]"),
    ("sum of an axis twice", lambda x: rt.reduce_sum(x, [0, 0]), (COUNT,), ShapeError,
     r"reduce_sum takes each axis once, but axis 0 is twice in \[0, 0\]"),
    ("reverse of an axis twice", lambda x: rt.reverse(x, [1, -1]), (COUNT,), ShapeError,
     r"reverse takes each axis once, but axis 1 is twice in \[1, -1\]"),
    ("reverse_sequence", lambda x, n: rt.reverse_sequence(x, n, seq_axis=1), (COUNT, ints(-1, 2)), InvalidArgumentError,
     r"lengths of 0 or more, not \[-1  2\]"),
    ("band_part", lambda x, n: rt.linalg.band_part(x, n, 0), (COUNT, one(5)), InvalidArgumentError,
     r"rows and columns, 2 and 3, not 5 and 0"),
    ("one_hot", rt.one_hot, (ints(0), one(-1)), InvalidArgumentError, r"a depth of at least 0, not -1"),
    ("eye", lambda n: rt.eye(2, n), (one(-1),), ShapeError, r"eye takes sizes of at least 0, not 2 and -1"),
    ("lu", rt.linalg.lu, (F3[:2],), ShapeError, r"lu takes square matrices, not \[2, 3\]"),
    ("colours", rt.image.rgb_to_hsv, (F3[:, :2],), ShapeError, r"a tensor of shape \[..., 3\], not \[3, 2\]"),
    ("batch_dims", lambda x, i: rt.gather(x, i, batch_dims=-2), (COUNT, ints(0)), ShapeError,
     r"batch_dims from -1 to 1 for indices of rank 1, not -2"),
    ("to_dense", sparse_row, (ints(1, 1),), InvalidArgumentError, r"each once, not \[\[1\]\n *\[1\]\]"),
    ("to_dense out of order", sparse_row, (ints(2, 1),), InvalidArgumentError, r"row-major.*reorder"),
    ("assert_shapes", shaped("N", "N"), (COUNT,), ShapeError, r"the shape \('N', 'N'\), but it has the shape \[2, 3\]"),
    ("assert_shapes of sizes", shaped("N", 7), (COUNT,), ShapeError, r"the shape \('N', 7\), but .* \[2, 3\], N=2"),
    ("assert_shapes of axes", shaped("*", 4, None, None), (COUNT,), ShapeError, r"but it has the shape \[2, 3\]"),
    ("assert_shapes of two", shaped_alike, (COUNT, ints(1, 2)), ShapeError, r"has the shape \[2\], N=2, D=3"),
    ("mode of pad", lambda x: rt.pad(x, [[1, 0]], "EDGE"), (ints(1),), ValueError, r"pad takes the mode .*'EDGE'"),
    ("dropout", lambda x: rt.nn.dropout(x, 1.0), (F3,), ValueError, r"dropout takes a rate from 0 to below 1, not 1.0"),
    ("norm", lambda x: rt.norm(x, "nuc"), (F3,), ValueError, r"the norm of a vector has the ord .*'nuc'"),
    ("meshgrid", lambda x: rt.meshgrid(x, indexing="zz"), (ints(1),), ValueError, r"takes the indexing .*'zz'"),
    ("central_crop", lambda x: rt.image.central_crop(x, 1.5), (IMAGE,), ValueError, r"central_fraction .* not 1.5"),
    ("boolean_mask", lambda x: rt.boolean_mask(x, True), (F3,), ValueError, r"a mask of rank 1 or more, not a scalar"),
    ("constant", lambda x: x + rt.constant(1.5, rt.int32), (one(1),), TypeError,
     r"1.5 cannot become int32.*\nUse the dtype float32, or cast it: rt.cast\(x, rt.int32\)"),
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
