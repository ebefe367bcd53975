"""Dtypes, shapes, specs and the types of graph values."""
from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from runtime.core import types as t
from runtime.core.types import TensorShape, TensorSpec, TensorType
from runtime.errors import DTypeError, InvalidArgumentError, ShapeError


def test_dtype_equals_its_name_and_numpys() -> None:
    assert t.int32 == "int32" and t.int32 == np.int32 and t.int32 == np.dtype("int32")
    assert t.int32 != t.int64 and t.int32 != None and t.int32 != "no dtype"  # noqa: E711
    assert {t.float32: 1}[t.as_dtype("float32")] == 1


def test_dtype_attributes() -> None:
    assert repr(t.float32) == "rt.float32" and str(t.float32) == "<dtype: 'float32'>"
    assert t.float32.is_floating and t.int8.is_integer and t.bool_.is_bool and t.complex64.is_complex
    assert t.uint8.is_unsigned and (t.uint8.min, t.uint8.max) == (0, 255) and t.int64.size == 8
    assert t.float16.max == np.finfo(np.float16).max and t.complex128.real_dtype is t.float64
    assert t.int32.as_numpy_dtype is np.int32
    with pytest.raises(TypeError, match="complex numbers have no order"):
        _ = t.complex64.max


@pytest.mark.parametrize(("value", "dtype"), [
    (int, t.int32), (float, t.float32), (bool, t.bool_), (complex, t.complex128), ("double", t.float64),
    (np.uint8, t.uint8), (np.dtype(">i4").newbyteorder("="), t.int32), (t.int16, t.int16),
    ("string", t.string), (str, t.string), (object, t.string),
])
def test_as_dtype(value: object, dtype: t.DType) -> None:
    assert t.as_dtype(value) is dtype


def test_as_dtype_names_the_choices() -> None:
    with pytest.raises(TypeError, match="'text' is not a dtype; there are bool, int8"):
        t.as_dtype("text")
    with pytest.raises(TypeError, match="None is not a dtype"):
        t.as_dtype(None)


def test_pickle_and_copy_keep_identity() -> None:
    assert pickle.loads(pickle.dumps(t.int32)) is t.int32 and copy.deepcopy(t.int32) is t.int32
    spec = TensorSpec([None, 2], t.int32, "x")
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_tensor_shape() -> None:
    shape = TensorShape([2, None, 3])
    assert shape.rank == len(shape) == 3 and shape.as_list() == list(shape) == [2, None, 3]
    assert shape[0] == 2 and shape[1] is None and shape[1:] == TensorShape([None, 3])
    assert shape == (2, None, 3) and str(shape) == "(2, None, 3)"
    assert repr(shape) == "TensorShape([2, None, 3])" and str(TensorShape(4)) == "(4,)"
    assert shape.concatenate([5]) == [2, None, 3, 5] and [1] + shape == [1, 2, None, 3]
    assert shape.num_elements() is None and TensorShape([2, 3]).num_elements() == 6
    assert shape.merge_with([None, 4, 3]) == [2, 4, 3]
    assert shape.most_specific_compatible_shape([2, 4, 4]) == [2, None, None]
    assert TensorShape([2, 4, 3]).is_subtype_of(shape) and not shape.is_subtype_of([2, 4, 3])
    assert shape != 3.5 and hash(shape) == hash(TensorShape(shape))


def test_tensor_shape_of_unknown_rank() -> None:
    unknown = TensorShape(None)
    assert not unknown and TensorShape([]) and unknown.rank is None and str(unknown) == "<unknown>"
    assert unknown.is_compatible_with([1, 2]) and unknown.concatenate([2]) == unknown and unknown[0] is None
    with pytest.raises(ValueError, match="the rank of this TensorShape is unknown"):
        unknown.as_list()
    with pytest.raises(ShapeError, match="has no rank"):
        _ = TensorSpec(None).type


def test_tensor_shape_errors() -> None:
    with pytest.raises(ValueError, match=r"Shapes \(2,\) and \(3,\) are incompatible"):
        TensorShape([2]).assert_is_compatible_with([3])
    with pytest.raises(ValueError, match="at least 0, not -1"):
        TensorShape([-1])
    with pytest.raises(TypeError, match="a dimension must be an int or None, not 'a'"):
        TensorShape(["a"])


def test_tensor_spec() -> None:
    spec = TensorSpec([None, 3], name="x")
    assert repr(spec) == "TensorSpec(shape=(None, 3), dtype=rt.float32, name='x')"
    assert spec.is_compatible_with(TensorSpec([2, 3]))
    assert not spec.is_compatible_with(TensorSpec([2, 3], t.int32))
    assert TensorSpec([2, 3], name="x").is_subtype_of(spec)
    assert spec.type == TensorType(t.float32, (None, 3))
    assert TensorSpec([2]).most_specific_compatible_type(TensorSpec([3])) == TensorSpec([None])
    with pytest.raises(ValueError, match="the dtypes differ"):
        TensorSpec([2]).most_specific_compatible_type(TensorSpec([2], t.int32))


def test_type_text_and_acceptance() -> None:
    wide = TensorType(t.float32, (None, 3))
    assert str(wide) == "float32[?,3]" and str(TensorType(t.int32, (), weak=True)) == "weak int32[]"
    assert str(t.ListType(wide)) == "list[float32[?,3]]"
    assert wide.accepts(TensorType(t.float32, (2, 3))) and not TensorType(t.float32, (2, 3)).accepts(wide)
    assert not wide.accepts(t.ListType(wide)) and t.ListType(wide).accepts(t.ListType(wide))


def _type(dtype: t.DType, weak: bool = False) -> TensorType:
    return TensorType(dtype, (), weak)


@pytest.mark.parametrize(("types", "expected"), [
    ([_type(t.int8), _type(t.int32, True)], (t.int8, False)),
    ([_type(t.float16), _type(t.int32, True), _type(t.float32, True)], (t.float16, False)),
    ([_type(t.complex64), _type(t.float32, True)], (t.complex64, False)),
    ([_type(t.int32, True), _type(t.float32, True)], (t.float32, True)),
    ([_type(t.int64, True), _type(t.int32, True)], (t.int64, True)),
    ([_type(t.bool_), _type(t.bool_)], (t.bool_, False)),
])
def test_promote(types: list[TensorType], expected: tuple[t.DType, bool]) -> None:
    assert t.promote(types) == expected
    assert t.promote(types[::-1]) == expected


@pytest.mark.parametrize(("types", "message"), [
    ([_type(t.int32), _type(t.int64)], "operands have different dtypes: int32 and int64"),
    ([_type(t.int32), _type(t.float32, True)], "operands have different dtypes: int32 and a Python float"),
    ([_type(t.bool_), _type(t.int32, True)], "operands have different dtypes: bool and a Python int"),
    ([_type(t.bool_), _type(t.int32)], "operands have different dtypes: bool and int32"),
])
def test_promote_refuses(types: list[TensorType], message: str) -> None:
    with pytest.raises(DTypeError) as info:
        t.promote(types)
    assert str(info.value) == message and "rt.cast(x, rt." in info.value.remedy
    assert isinstance(info.value, TypeError) and isinstance(info.value, InvalidArgumentError)


@pytest.mark.parametrize(("shapes", "expected"), [
    ([(2, 3), (3,)], (2, 3)), ([(), (2,)], (2,)), ([(None,), (1,)], (None,)), ([(None,), (4,)], (4,)),
    ([(None,), (None,)], (None,)), ([(0, 1), (1, 5)], (0, 5)), ([(2, 1), (1, None), (1, 3)], (2, 3)),
])
def test_broadcast_shapes(shapes: list[t.Shape], expected: t.Shape) -> None:
    assert t.broadcast_shapes(*shapes) == expected and t.broadcast_shapes(*shapes[::-1]) == expected


INT, FLOAT = TensorType(t.int32), TensorType(t.float32, weak=True)


@pytest.mark.parametrize(("types", "expected"), [
    ([INT, FLOAT], (t.float64, True)), ([TensorType(t.int8), FLOAT], (t.float32, True)),
    ([TensorType(t.int32, (2,)), FLOAT], (t.float64, False)), ([TensorType(t.float32), FLOAT], (t.float32, False)),
    ([INT, TensorType(t.complex128, weak=True)], (t.complex128, True)),
    ([TensorType(t.float64), TensorType(t.complex128, weak=True)], (t.complex128, False)),
])
def test_promote_widens_ints_beside_numbers_of_python(types: list[TensorType], expected: tuple[t.DType, bool]) -> None:
    assert t.promote(types, widens=True) == t.promote(types[::-1], widens=True) == expected


@pytest.mark.parametrize(("a", "b", "joined"), [
    (INT, FLOAT, TensorType(t.float64, weak=True)), (INT, TensorType(t.float64), TensorType(t.float64)),
    (INT, TensorType(t.float32), None), (TensorType(t.int8), TensorType(t.float32), TensorType(t.float32)),
    (TensorType(t.int32, (2,)), TensorType(t.float64, (2,)), None),
])
def test_join_of_ints_and_floats(a: TensorType, b: TensorType, joined: TensorType | None) -> None:
    assert t.join_types(a, b, adapts=True) == t.join_types(b, a, adapts=True) == joined


def test_broadcast_shapes_refuses() -> None:
    with pytest.raises(ShapeError, match=r"^shapes do not broadcast: \[2\] and \[3\]$"):
        t.broadcast_shapes((2,), (3,))
    with pytest.raises(ShapeError):
        t.broadcast_shapes((None, 2), (None, 3))


def test_join_shapes() -> None:
    assert t.join_shapes((2, 3), (2, 4)) == (2, None) and t.join_shapes((2,), (2, 2)) is None
    assert t.compatible_shapes((None, 3), (2, 3)) and not t.compatible_shapes((2,), (3,))
