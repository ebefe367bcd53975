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
        rt.RaggedTensor([[0]], [1], [3])
    assert "RaggedTensor is not there: the runtime has no ragged tensors" in str(info.value)
    assert "test_tf_names.py" in str(info.value)
    with pytest.raises(rt.errors.UnimplementedError, match="ragged.constant is not there"):
        rt.ragged.constant([[1], []])
    assert not isinstance(rt.constant(1), (rt.SparseTensor, rt.RaggedTensor, rt.sparse.SparseTensor))


def test_ensure_shape() -> None:
    @rt.function(input_signature=[rt.TensorSpec([None, None])])
    def known(x):
        y = rt.ensure_shape(x, [None, 3])
        assert y.shape.as_list() == [None, 3] and x.shape.as_list() == [None, None]
        return y * 2.0

    assert known(rt.ones([2, 3])).numpy().tolist() == [[2.0] * 3] * 2
    with pytest.raises(rt.errors.InvalidArgumentError, match=r"dimension 1 is not that of the shape \(None, 3\)"):
        known(rt.ones([3, 2]))
    assert rt.ensure_shape(rt.ones([2]), [None]).shape == [2] == rt.ensure_shape(rt.ones([2]), None).shape
    for shape in [3], [2, 2], []:
        with pytest.raises(rt.errors.ShapeError, match=r"test_tf_names.py:\d+: the shape \(2,\) is not compatible"):
            rt.ensure_shape(rt.ones([2]), shape)


def test_initializers() -> None:
    assert rt.zeros_initializer()([2]).numpy().tolist() == [0.0, 0.0] and rt.ones_initializer()([], "int32") == 1
    assert rt.constant_initializer(3)([2, 1]).numpy().tolist() == [[3.0], [3.0]]
    for made in rt.random_normal_initializer(5.0, 0.1, seed=1), rt.random_uniform_initializer(4.0, 6.0):
        values = made([100]).numpy()
        assert values.shape == (100,) and abs(values.mean() - 5.0) < 0.3 and values.std() > 0
        assert type(made).from_config(made.get_config()).get_config() == made.get_config()


def test_arguments_as_tensorflow_has_them() -> None:
    v = rt.Variable(1.0, False, True, None, "v", None, "float64", synchronization=None, aggregation=None)
    assert v.name == "v:0" and not v.trainable and v.dtype is rt.float64
    product = rt.matmul([[1, 2]], [[3], [4]], a_is_sparse=True, output_type=rt.float32)
    assert product.numpy().tolist() == [[11.0]]

    @rt.function
    def counted(n):
        i = 0
        while i < n:
            rt.autograph.experimental.set_loop_options(10, False, 5)
            i += 1
        return i

    assert counted(rt.constant(100)) == 5
    with pytest.raises(rt.errors.StagingError, match="checkpoint is a number of iterations, at least 1, not 'a'"):
        rt.while_loop(lambda i: i < 3, lambda i: i + 1, [0], checkpoint_every="a")
