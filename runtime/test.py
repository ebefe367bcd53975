"""Tests of tensor programs (`tf.test`), based on `unittest`."""
from __future__ import annotations

import contextlib
import sys
import tempfile
import unittest
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from autograph.backend import hint_at_names
from runtime.core import pytree
from runtime.core.errors import InvalidArgumentError, OpError
from runtime.core.trace import convert_to_tensor

__all__ = ["TestCase", "gpu_device_name", "is_built_with_cuda", "is_built_with_gpu_support", "is_gpu_available", "main"]


def _array(x: Any) -> Any:
    return np.asarray(convert_to_tensor(x)) if not isinstance(x, (np.ndarray, str, bytes)) else np.asarray(x)


def _canonical(device: Any) -> str:
    """The kind and the number of a device: "CPU:0"."""
    kind, _, number = str(device or "CPU:0").upper().rpartition("/")[2].removeprefix("DEVICE:").partition(":")
    return f"{kind}:{number or 0}"


class TestCase(unittest.TestCase):
    """`tf.test.TestCase`: comparisons of tensors, arrays, numbers, and lists, tuples and dicts of these."""

    def evaluate(self, tensors: Any) -> Any:
        """The structure with tensors converted to arrays."""
        return pytree.map_structure(lambda x: x.numpy() if hasattr(x, "numpy") else x, tensors)

    def get_temp_dir(self) -> str:
        """A directory that is removed after the test."""
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
        """Different shapes, or at least one different element."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise self.failureException(msg or "all elements are equal")

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Equal shapes, and elements that differ by at most `atol + rtol * |b|`; for float16 at least by 1e-3 each."""
        for x, y in self._pairs(a, b, msg):
            self.assertEqual(x.shape, y.shape, msg)
            half = np.float16 in (x.dtype, y.dtype)
            np.testing.assert_allclose(x, y, max(rtol, 1e-3) if half else rtol, max(atol, 1e-3) if half else atol,
                                       err_msg=msg or "")

    def assertAllCloseAccordingToType(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, float_rtol: float = 1e-6,
        float_atol: float = 1e-6, half_rtol: float = 1e-3, half_atol: float = 1e-3, bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2, msg: str | None = None,
    ) -> None:
        """As `assertAllClose`, with the greatest of what the dtypes allow."""
        for x, y in self._pairs(a, b, msg):
            names = {x.dtype.name, y.dtype.name}
            if "bfloat16" in names:
                self.assertAllClose(x.astype(np.float64), y.astype(np.float64), bfloat16_rtol, bfloat16_atol, msg)
            elif "float16" in names:
                self.assertAllClose(x, y, half_rtol, half_atol, msg)
            elif names & {"float32", "complex64"}:
                self.assertAllClose(x, y, float_rtol, float_atol, msg)
            else:
                self.assertAllClose(x, y, rtol, atol, msg)

    def assertNotAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Different shapes, or at least one element that differs by more."""
        try:
            self.assertAllClose(a, b, rtol, atol)
        except AssertionError:
            return
        raise self.failureException(msg or "all elements are close")

    def assertNear(self, f1: Any, f2: Any, err: float, msg: str | None = None) -> None:
        """Two numbers that differ by at most `err`."""
        self.assertLessEqual(abs(float(_array(f1)) - float(_array(f2))), err, msg)

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: str | None = None) -> None:
        """As many numbers, each of which differs by at most `err`."""
        first, second = _array(farray1), _array(farray2)
        self.assertEqual(len(first), len(second), msg)
        for f1, f2 in zip(first, second, strict=True):
            self.assertNear(f1, f2, err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None) -> None:
        """Two arrays of one shape, whose difference has a norm of at most `err`."""
        first, second = _array(ndarray1), _array(ndarray2)
        self.assertEqual(first.shape, second.shape, msg)
        self.assertLessEqual(float(np.linalg.norm(first - second)), err, msg)

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

    def assertAllInRange(
        self, target: Any, lower_bound: Any, upper_bound: Any, open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        (self.assertAllGreater if open_lower_bound else self.assertAllGreaterEqual)(target, lower_bound)
        (self.assertAllLess if open_upper_bound else self.assertAllLessEqual)(target, upper_bound)

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        self.assertLessEqual(set(_array(target).ravel().tolist()), set(expected_set))

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """The same device, with or without the name of its job: "CPU:0" is "/device:CPU:0"."""
        first, second = (_canonical(device) for device in (device1, device2))
        self.assertEqual(first, second, msg)

    def assertRaisesWithPredicateMatch(self, exception_type: Any, expected_err_re_or_predicate: Any) -> Any:
        """A context in which an error of this type is raised, whose text matches, or for which the predicate holds."""
        if not callable(expected_err_re_or_predicate):
            return self.assertRaisesRegex(exception_type, expected_err_re_or_predicate)
        return self._raises_if(exception_type, expected_err_re_or_predicate)

    @contextlib.contextmanager
    def _raises_if(self, exception_type: Any, predicate: Callable[[Any], Any]) -> Iterator[Any]:
        with self.assertRaises(exception_type) as context:
            yield context
        self.assertTrue(predicate(context.exception), f"not the error that is wanted: {context.exception}")

    def assertRaisesWithLiteralMatch(self, expected_exception: Any, expected_exception_message: str) -> Any:
        """A context in which an error with exactly this text is raised."""
        return self._raises_if(expected_exception, lambda error: str(error) == expected_exception_message)

    def assertRaisesIncompatibleShapesError(self, exception_type: Any = InvalidArgumentError) -> Any:
        """A context in which the error for shapes that do not fit is raised."""
        return self.assertRaises(exception_type)

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """A context that requires an OpError whose text matches."""
        return self.assertRaisesRegex(OpError, expected_err_re_or_predicate)

    def assertEmpty(self, container: Any, msg: str | None = None) -> None:
        self.assertEqual(len(container), 0, msg)

    def assertNotEmpty(self, container: Any, msg: str | None = None) -> None:
        self.assertNotEqual(len(container), 0, msg)

    def assertLen(self, container: Any, expected_len: int, msg: str | None = None) -> None:
        self.assertEqual(len(container), expected_len, msg)

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        self.assertTrue(actual.startswith(expected_start), msg or f"{actual!r} does not start with {expected_start!r}")

    def assertEndsWith(self, actual: str, expected_end: str, msg: str | None = None) -> None:
        self.assertTrue(actual.endswith(expected_end), msg or f"{actual!r} does not end with {expected_end!r}")

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: str | None = None) -> None:
        """A value from `minv` to `maxv`."""
        self.assertTrue(bool(minv <= value <= maxv), msg or f"{value} is not between {minv} and {maxv}")

    def assertItemsEqual(self, first: Any, second: Any, msg: str | None = None) -> None:
        """The same elements as often, in any order."""
        self.assertCountEqual(first, second, msg)

    def assertSameElements(self, expected_seq: Any, actual_seq: Any, msg: str | None = None) -> None:
        """The same elements, in any order and number."""
        self.assertEqual(set(expected_seq), set(actual_seq), msg)

    def assertContainsSubset(self, expected_subset: Any, actual_set: Any, msg: str | None = None) -> None:
        self.assertLessEqual(set(expected_subset), set(actual_set), msg)

    def assertNoCommonElements(self, expected_seq: Any, actual_seq: Any, msg: str | None = None) -> None:
        self.assertEqual(set(expected_seq) & set(actual_seq), set(), msg)

    def assertSequenceAlmostEqual(
        self, expected_seq: Any, actual_seq: Any, places: int | None = None, msg: Any = None, delta: Any = None
    ) -> None:
        """As many numbers, each as in `assertAlmostEqual`."""
        self.assertEqual(len(expected_seq), len(actual_seq), msg)
        for x, y in zip(expected_seq, actual_seq, strict=True):
            self.assertAlmostEqual(x, y, places, msg, delta)

    def assertDictAlmostEqual(
        self, a: Any, b: Any, places: int | None = None, msg: Any = None, delta: Any = None
    ) -> None:
        """The same keys, with numbers as in `assertAlmostEqual`."""
        self.assertEqual(set(a), set(b), msg)
        for key in a:
            self.assertAlmostEqual(a[key], b[key], places, msg, delta)

    def assertRegexMatch(self, actual_str: str, regexes: Iterable[str], message: str | None = None) -> None:
        """Text in which one of the expressions is found."""
        self.assertRegex(actual_str, "|".join(f"(?:{regex})" for regex in regexes), message)

    def assertIsSubclass(self, cls: Any, superclass: Any, msg: str | None = None) -> None:
        self.assertTrue(issubclass(cls, superclass), msg or f"{cls} is no subclass of {superclass}")

    def assertSameStructure(self, a: Any, b: Any, aname: str = "a", bname: str = "b", msg: str | None = None) -> None:
        """The same value, as lists, tuples and dicts of the same."""
        self.assertEqual(a, b, msg or f"{aname} and {bname} differ")

    @contextlib.contextmanager
    def cached_session(self, *args: Any, **kwargs: Any) -> Iterator[TestCase]:
        """The test itself, whose `evaluate` takes tensors."""
        yield self

    session = cached_session


def main(argv: Any = None) -> None:
    """Run the tests of the program (`tf.test.main`)."""
    unittest.main(argv=argv)


def is_gpu_available(*args: Any, **kwargs: Any) -> bool:
    """False: there is no GPU (`tf.test.is_gpu_available`)."""
    return False


def is_built_with_cuda() -> bool:
    """False: CUDA is not used (`tf.test.is_built_with_cuda`)."""
    return False


def is_built_with_gpu_support() -> bool:
    """False: there is no GPU support (`tf.test.is_built_with_gpu_support`)."""
    return False


def gpu_device_name() -> str:
    """An empty name: there is no GPU (`tf.test.gpu_device_name`)."""
    return ""


hint_at_names(sys.modules[__name__])
