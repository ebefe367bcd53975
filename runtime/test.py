"""Tests of programs on tensors (`tf.test`), on `unittest`."""
from __future__ import annotations

import contextlib
import sys
import tempfile
import unittest
from collections.abc import Iterator
from typing import Any

import numpy as np

from autograph.backend import hint_at_names
from runtime.core import pytree
from runtime.core.errors import OpError
from runtime.core.trace import convert_to_tensor

__all__ = ["TestCase", "gpu_device_name", "is_built_with_cuda", "is_built_with_gpu_support", "is_gpu_available", "main"]


def _array(x: Any) -> Any:
    return np.asarray(convert_to_tensor(x)) if not isinstance(x, (np.ndarray, str, bytes)) else np.asarray(x)


class TestCase(unittest.TestCase):
    """`tf.test.TestCase`: comparisons of tensors, arrays, numbers, and lists, tuples and dicts of these."""

    def evaluate(self, tensors: Any) -> Any:
        """Arrays in place of tensors."""
        return pytree.map_structure(lambda x: x.numpy() if hasattr(x, "numpy") else x, tensors)

    def get_temp_dir(self) -> str:
        """A folder that is removed after the test."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def _pairs(self, a: Any, b: Any, msg: str | None) -> Iterator[tuple[Any, Any]]:
        if isinstance(a, dict) or isinstance(b, dict):
            self.assertEqual(sorted(a), sorted(b), msg)
            for key in a:
                yield from self._pairs(a[key], b[key], msg)
        elif (isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b)
              and any(np.ndim(_array(x)) for x in a if not isinstance(x, (dict, list, tuple)))):
            for x, y in zip(a, b):
                yield from self._pairs(x, y, msg)
        else:
            yield _array(a), _array(b)

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Equal shapes and elements."""
        for x, y in self._pairs(a, b, msg):
            np.testing.assert_array_equal(x, y, msg or "", strict=False)
            self.assertEqual(x.shape, y.shape, msg)

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Other shapes, or some other elements."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise self.failureException(msg or "all elements are equal")

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Equal shapes, and elements that differ by at most `atol + rtol * |b|`; more for float16."""
        for x, y in self._pairs(a, b, msg):
            self.assertEqual(x.shape, y.shape, msg)
            half = np.float16 in (x.dtype, y.dtype)
            np.testing.assert_allclose(x, y, max(rtol, 1e-3) if half else rtol, max(atol, 1e-3) if half else atol,
                                       err_msg=msg or "")

    def assertAllCloseAccordingToType(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, float_rtol: float = 1e-6,
        float_atol: float = 1e-6, half_rtol: float = 1e-3, half_atol: float = 1e-3, msg: str | None = None,
    ) -> None:
        """As `assertAllClose`, with what the dtype allows."""
        for x, y in self._pairs(a, b, msg):
            half, single = (any(kind in (x.dtype, y.dtype) for kind in kinds)
                            for kinds in ((np.float16,), (np.float32, np.complex64)))
            own = (half_rtol, half_atol) if half else (float_rtol, float_atol) if single else (rtol, atol)
            self.assertAllClose(x, y, *own, msg)

    def assertNotAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Other shapes, or some elements that differ by more."""
        try:
            self.assertAllClose(a, b, rtol, atol)
        except AssertionError:
            return
        raise self.failureException(msg or "all elements are close")

    def assertNear(self, f1: Any, f2: Any, err: float, msg: str | None = None) -> None:
        """Two numbers that differ by at most `err`."""
        self.assertLessEqual(abs(float(_array(f1)) - float(_array(f2))), err, msg)

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        self.assertEqual(_array(input_a).shape, _array(input_b).shape, msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        self.assertEqual(_array(target).dtype, np.dtype(getattr(expected_dtype, "np", expected_dtype)))

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        self.assertTrue(bool(np.all(_array(a) > comparison_target)), f"not all of {a} are above {comparison_target}")

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        self.assertTrue(bool(np.all(_array(a) < comparison_target)), f"not all of {a} are below {comparison_target}")

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertTrue(bool(np.all(_array(a) >= comparison_target)), f"some of {a} are below {comparison_target}")

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertTrue(bool(np.all(_array(a) <= comparison_target)), f"some of {a} are above {comparison_target}")

    def assertAllInRange(self, target: Any, lower_bound: Any, upper_bound: Any) -> None:
        self.assertAllGreaterEqual(target, lower_bound)
        self.assertAllLessEqual(target, upper_bound)

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        self.assertLessEqual(set(_array(target).ravel().tolist()), set(expected_set))

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """A context in which an OpError with this text is raised."""
        return self.assertRaisesRegex(OpError, expected_err_re_or_predicate)

    def assertEmpty(self, container: Any, msg: str | None = None) -> None:
        self.assertEqual(len(container), 0, msg)

    def assertLen(self, container: Any, expected_len: int, msg: str | None = None) -> None:
        self.assertEqual(len(container), expected_len, msg)

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        self.assertTrue(actual.startswith(expected_start), msg or f"{actual!r} does not start with {expected_start!r}")

    @contextlib.contextmanager
    def cached_session(self, *args: Any, **kwargs: Any) -> Iterator[TestCase]:
        """The test itself, whose `evaluate` takes tensors."""
        yield self

    session = cached_session


def main(argv: Any = None) -> None:
    """Run the tests of the program (`tf.test.main`)."""
    unittest.main(argv=argv)


def is_gpu_available(*args: Any, **kwargs: Any) -> bool:
    """There is none (`tf.test.is_gpu_available`)."""
    return False


def is_built_with_cuda() -> bool:
    """It is not (`tf.test.is_built_with_cuda`)."""
    return False


def is_built_with_gpu_support() -> bool:
    """There is none (`tf.test.is_built_with_gpu_support`)."""
    return False


def gpu_device_name() -> str:
    """There is none (`tf.test.gpu_device_name`)."""
    return ""


hint_at_names(sys.modules[__name__])
