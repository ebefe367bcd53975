"""Lists of tensors that native code makes: they are as Python would make them, and nothing leaks."""
from __future__ import annotations

import copy
import gc
import pickle
import sys
import time
import weakref
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.core.tensor import EagerTensor
from runtime.function.execution.executors import unstacking
from runtime.function.execution.unstacked import tensors_of_rows

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")


def read_only(array: Any) -> Any:
    array.setflags(write=False)
    return array


def test_native_code_makes_the_lists() -> None:
    assert unstacking() is not None


@pytest.mark.parametrize("code", "?bBhHiIlLqQefdFD")
def test_elements_are_tensors_of_their_dtype_and_value(code: str) -> None:
    array = read_only(np.array([0, 1, 77, 3]).astype(code))
    found = tensors_of_rows(array)
    assert type(found) is list
    for x, number in zip(found, array, strict=True):
        expected = EagerTensor(number)
        assert type(x) is EagerTensor and x.dtype is expected.dtype and x.shape == () and x.ndim == 0
        assert type(x.numpy()) is type(number) and x.numpy() == number and x.item() == number.item()
        assert repr(x) == repr(expected) and str(x) == str(expected) and f"{x}" == f"{expected}"
        assert np.asarray(x).dtype == array.dtype and not np.asarray(x).flags.writeable
        for other in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), rt.constant(x), rt.identity(x)):
            assert other.dtype is x.dtype and other.numpy() == number
        assert x._repr_html_() == expected._repr_html_()
        assert rt.function(lambda y: (y, 1))(x)[0].numpy() == number == rt.function(lambda y: y)(x).numpy()


@pytest.mark.parametrize("array", [
    np.arange(12.0).reshape(4, 3), np.arange(24).reshape(2, 3, 4), np.zeros((0, 3)), np.zeros(0), np.arange(10)[::-3],
    np.array([b"a", b"bc"], object), np.array([True, False, True])])
def test_rows_and_arrays_that_are_not_contiguous(array: Any) -> None:
    found = tensors_of_rows(read_only(array))
    assert len(found) == len(array)
    for x, row in zip(found, array, strict=True):
        assert np.array_equal(x.numpy(), row) and not np.asarray(x).flags.writeable


def test_tensors_of_a_list_are_released() -> None:
    array = read_only(np.arange(1000.0))
    scalar = read_only(np.ones(1000, bool))[0]
    gc.collect()  # what compilation has left, and other tests
    classes, before = sys.getrefcount(EagerTensor), sys.getrefcount(scalar)
    for other in (array, read_only(np.ones(1000, bool)), read_only(np.ones((1000, 2)))):
        for _ in range(3):
            found = tensors_of_rows(other)
            references = [weakref.ref(x) for x in found]
            gc.collect()
            assert all(reference() is x for reference, x in zip(references, found, strict=True))
            del found
            assert not any(isinstance(reference(), EagerTensor) for reference in references)
    assert sys.getrefcount(EagerTensor) <= classes + 1 and sys.getrefcount(scalar) == before


def test_the_collector_does_not_go_through_long_lists() -> None:
    found = tensors_of_rows(read_only(np.arange(10)))
    assert not any(map(gc.is_tracked, found))


def test_a_number_of_a_long_result_costs_less_than_one_that_python_makes() -> None:
    array = read_only(np.arange(100_000))

    def seconds(make: Any) -> float:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            made = make(array)
            times.append(time.perf_counter() - start)
            del made
        return min(times)

    assert seconds(tensors_of_rows) < seconds(lambda array: list(map(EagerTensor.own, array))) / 4
