"""Names of TF 2 that have little to do here, or that are not there."""
from __future__ import annotations

import numpy as np
import pytest

import runtime as rt


class Checks(rt.test.TestCase):
    def test_comparisons(self):
        self.assertAllEqual(rt.constant([1, 2]), [1, 2])
        self.assertAllEqual({"a": rt.constant(1)}, {"a": 1})
        self.assertAllClose([rt.constant([1.0]), (2.0,)], [np.ones(1), (2.0 + 1e-9,)])
        self.assertNotAllClose(rt.constant(1.0), 1.1)
        self.assertNotAllEqual([1, 2], [1, 3])
        self.assertAllCloseAccordingToType(rt.constant(1.0, rt.float16), 1.0005)
        self.assertAllInRange([0.0, 1.0], 0, 1)
        self.assertShapeEqual(np.zeros(2), rt.zeros(2))
        self.assertDTypeEqual(rt.zeros(2), rt.float32)
        for wrong in (lambda: self.assertAllEqual([1], [1, 1]), lambda: self.assertAllEqual([1, 2], [1, 3]),
                      lambda: self.assertAllClose(rt.constant(1.0), 1.1), lambda: self.assertNotAllEqual([1], [1]),
                      lambda: self.assertNotAllClose(1.0, 1.0), lambda: self.assertAllInRange([2.0], 0, 1),
                      lambda: self.assertDTypeEqual(rt.zeros(2), rt.int32),
                      lambda: self.assertAllEqual({"a": 1}, {"b": 1})):
            with self.assertRaises(AssertionError):
                wrong()

    def test_values(self):
        with self.cached_session() as session:
            self.assertEqual(session.evaluate({"x": rt.constant(2)}), {"x": 2})
        with self.assertRaisesOpError("does not|out of"):
            rt.gather(rt.constant([1, 2]), rt.constant(5))


def test_program_order():
    @rt.function
    def f(x):
        with rt.device("/CPU:0"), rt.control_dependencies([x]):
            rt.no_op()
            rt.group(x, x, name="g")
            a, b = rt.tuple([x, x + 1])
        return a + b, rt.identity_n([x])[0]

    assert f(rt.constant(2))[0] == 5
    with rt.device(None), rt.device("/GPU:3"):
        assert not rt.is_symbolic_tensor(rt.constant(1))
    with pytest.raises(rt.errors.InvalidArgumentError, match="'nowhere' names no device"), rt.device("nowhere"):
        pass
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        rt.group(nonsense=1)


def test_devices_and_features():
    assert [d.device_type for d in rt.config.list_physical_devices()] == ["CPU"]
    assert rt.config.list_physical_devices("GPU") == [] and len(rt.config.list_logical_devices("CPU")) == 1
    feature = rt.autograph.experimental.Feature
    assert feature.LISTS in feature.all() and feature.LISTS not in feature.all_but(feature.LISTS)
    assert not rt.test.is_gpu_available() and rt.test.gpu_device_name() == ""


def test_what_is_not_there_says_so():
    with pytest.raises(rt.errors.UnimplementedError) as info:
        rt.SparseTensor([[0]], [1], [3])
    assert "SparseTensor is not there: the runtime has dense tensors only" in str(info.value)
    assert "test_tf_names.py" in str(info.value)
    with pytest.raises(rt.errors.UnimplementedError, match="sparse.from_dense is not there"):
        rt.sparse.from_dense([1])
    with pytest.raises(rt.errors.UnimplementedError, match="ragged.constant is not there"):
        rt.ragged.constant([[1], []])
    assert not isinstance(rt.constant(1), (rt.SparseTensor, rt.RaggedTensor, rt.sparse.SparseTensor))
