"""Names of TF 2 that have little to do here, or that are not there."""
from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import autograph as ag
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

    def test_numbers_that_are_near(self):
        self.assertArrayNear([1.0, 2.0], rt.constant([1.01, 2.0]), 0.02)
        self.assertNDArrayNear(rt.zeros([2, 2]), np.full((2, 2), 0.1), 0.21)
        self.assertSequenceAlmostEqual([1.0], [1.00000001])
        self.assertDictAlmostEqual({"a": 1.0}, {"a": 1.1}, delta=0.2)
        self.assertBetween(2, 1, 2)
        self.assertAllInRange([1.0, 2.0], 0, 3, open_lower_bound=True, open_upper_bound=True)
        for wrong in (lambda: self.assertArrayNear([1.0], [1.0, 2.0], 1),
                      lambda: self.assertArrayNear([1.0], [1.1], 0.01),
                      lambda: self.assertNDArrayNear([[1.0]], [1.0], 1), lambda: self.assertBetween(3, 1, 2),
                      lambda: self.assertNDArrayNear([1.0, 1.0], [0.0, 0.0], 1), lambda: self.assertBetween(0, 1, 2),
                      lambda: self.assertDictAlmostEqual({"a": 1.0}, {"b": 1.0}),
                      lambda: self.assertSequenceAlmostEqual([1.0], [1.1]),
                      lambda: self.assertAllInRange([1.0], 1, 2, open_lower_bound=True)):
            with self.assertRaises(AssertionError):
                wrong()

    def test_containers_and_texts(self):
        self.assertNotEmpty([1])
        self.assertEndsWith("abc", "bc")
        self.assertItemsEqual([1, 2, 2], [2, 1, 2])
        self.assertSameElements([1, 2, 2], [2, 1])
        self.assertContainsSubset([1], [2, 1])
        self.assertNoCommonElements([1], [2])
        self.assertRegexMatch("abc", ["x", "b"])
        self.assertIsSubclass(int, object)
        self.assertSameStructure({"a": [1]}, {"a": [1]})
        self.assertDeviceEqual(rt.constant(1).device, "/cpu:0")
        for wrong in (lambda: self.assertNotEmpty([]), lambda: self.assertEndsWith("abc", "b"),
                      lambda: self.assertItemsEqual([1, 2], [2, 1, 2]), lambda: self.assertSameElements([1], [2, 1]),
                      lambda: self.assertContainsSubset([3], [2, 1]), lambda: self.assertNoCommonElements([1], [1]),
                      lambda: self.assertRegexMatch("abc", ["x", "y"]), lambda: self.assertIsSubclass(int, str),
                      lambda: self.assertSameStructure({"a": [1]}, {"a": [2]}),
                      lambda: self.assertDeviceEqual("CPU:0", "/device:GPU:0")):
            with self.assertRaises(AssertionError):
                wrong()

    def test_errors(self):
        with self.assertRaisesWithPredicateMatch(ValueError, lambda error: error.args == ("a",)):
            raise ValueError("a")
        with self.assertRaisesWithPredicateMatch(ValueError, "^a$"):
            raise ValueError("a")
        with self.assertRaisesWithLiteralMatch(ValueError, "a"):
            raise ValueError("a")
        with self.assertRaisesIncompatibleShapesError():
            rt.ones([2]) + rt.ones([3])
        with self.assertRaises(AssertionError), self.assertRaisesWithLiteralMatch(ValueError, "b"):
            raise ValueError("a")

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
    for name, call in (
        ("ragged.constant", lambda: rt.ragged.constant([[1], []])),
        ("RaggedTensor.from_row_lengths", lambda: rt.RaggedTensor.from_row_lengths([1, 2], [1, 1])),
        ("Dataset.ragged_batch", lambda: rt.data.Dataset.range(3).ragged_batch(2)),
        ("Dataset.ragged_batch", lambda: rt.data.Dataset.range(3).apply(rt.data.experimental.dense_to_ragged_batch(2))),
    ):
        with pytest.raises(rt.errors.UnimplementedError, match=rf"(?s)test_tf_names.py:\d+: {name} is not .*padding"):
            call()
    assert not isinstance(rt.constant(1), (rt.SparseTensor, rt.RaggedTensor, rt.sparse.SparseTensor))


def test_ensure_shape() -> None:
    @rt.function(input_signature=[rt.TensorSpec([None, None])])
    def known(x):
        y = rt.ensure_shape(x, [None, 3])
        assert y.shape.as_list() == [None, 3] and x.shape.as_list() == [None, None]
        return y * 2.0

    assert known(rt.ones([2, 3])).numpy().tolist() == [[2.0] * 3] * 2
    with pytest.raises(rt.errors.InvalidArgumentError, match=r"the shape \[3, 2\], but ensure_shape says \(None, 3\)"):
        known(rt.ones([3, 2]))
    assert rt.ensure_shape(rt.ones([2]), [None]).shape == [2] == rt.ensure_shape(rt.ones([2]), None).shape
    for shape in [3], [2, 2], []:
        with pytest.raises(rt.errors.ShapeError, match=r"test_tf_names.py:\d+: .* shape \[2\], but ensure"):
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


def test_layouts_and_hints_of_products() -> None:
    for make in (lambda layout: rt.zeros([2], layout=layout), lambda layout: rt.ones([2], layout=layout),
                 lambda layout: rt.fill([2], 3, layout=layout), lambda layout: rt.zeros_like([1], layout=layout),
                 lambda layout: rt.ones_like([1], layout=layout)):
        assert make(None).ndim == 1
        with pytest.raises(rt.errors.UnimplementedError, match=r"test_tf_names.py:\d+: \w+ has no layout"):
            make("here")
    assert rt.matmul([[1.0]], [[2.0]], grad_a=True, grad_b=True).numpy().tolist() == [[2.0]]


def test_bad_indices() -> None:
    x = rt.reshape(rt.range(6.0), [3, 2])
    rows = rt.constant([[0], [5], [-1], [2]])

    def ignoring(x, rows):
        updates = rt.constant([1.0, 2.0, 3.0, 4.0])
        return (rt.gather_nd(x, rows, bad_indices_policy="IGNORE"),
                rt.scatter_nd(rows, updates, [3], "IGNORE"),
                rt.tensor_scatter_nd_add(rt.ones([3]), rows, updates, "IGNORE"),
                rt.tensor_scatter_nd_sub(rt.ones([3]), rows, updates, bad_indices_policy="IGNORE"),
                rt.tensor_scatter_nd_max(rt.ones([3]), rows, updates, "IGNORE"),
                rt.tensor_scatter_nd_min(rt.zeros([3]), rows, updates, "IGNORE"),
                rt.gather_nd(x, [7], bad_indices_policy="IGNORE"))

    want = [[[0, 1], [0, 0], [0, 0], [4, 5]], [1, 0, 4], [2, 1, 5], [0, 1, -3], [1, 1, 4], [0, 0, 0], [0, 0]]
    unknown = [rt.TensorSpec([None, None]), rt.TensorSpec([None, 1], rt.int32)]
    for fn in ignoring, rt.function(ignoring), rt.function(ignoring, input_signature=unknown):
        assert [found.numpy().tolist() for found in fn(x, rows)] == want
    gradient = rt.grad(lambda v: rt.reduce_sum(rt.gather_nd(v, rows, bad_indices_policy="IGNORE")))(x)
    assert gradient.numpy().tolist() == [[1, 1], [0, 0], [1, 1]]
    for policy in "", "DEFAULT", "ERROR":
        for call in (lambda p=policy: rt.gather_nd(x, rows, bad_indices_policy=p),
                     lambda p=policy: rt.scatter_nd(rows, [1, 2, 3, 4], [3], p)):
            with pytest.raises(rt.errors.InvalidArgumentError, match="out of bounds"):
                call()
    with pytest.raises(rt.errors.InvalidArgumentError, match="bad_indices_policy of gather_nd is one of .*, not 'x'"):
        rt.gather_nd(x, rows, bad_indices_policy="x")


def test_options_of_variables() -> None:
    v = rt.Variable(1.0, synchronization=rt.VariableSynchronization.ON_READ, aggregation=rt.VariableAggregation.SUM)
    for one in v, copy.deepcopy(v), pickle.loads(pickle.dumps(v)):
        assert one.synchronization is rt.VariableSynchronization.ON_READ
        assert one.aggregation is rt.VariableAggregation.SUM
    plain = rt.Variable(1.0, experimental_enable_variable_lifting=False)
    assert plain.synchronization is rt.VariableSynchronization.AUTO
    assert plain.aggregation is rt.VariableAggregation.NONE
    assert rt.function(lambda w: (w.aggregation.name, w))(v)[0] in ("SUM", "NONE")
    with pytest.raises(ValueError, match="aggregation of a Variable is one of VariableAggregation.NONE"):
        rt.Variable(1.0, aggregation="sum")


def helper(x):
    return -x if x < 0 else x


def caller(x):
    return helper(x) + 1


def test_autograph_takes_tensorflows_arguments() -> None:
    for module in ag, rt.autograph:
        feature = rt.autograph.experimental.Feature.EQUALITY_OPERATORS
        text = module.to_code(entity=caller, recursive=True, experimental_optional_features=feature)
        assert text == module.to_code(caller) and "def caller" in text
        assert "ag__.call" in module.to_code(caller, stage="compiled")
        assert "ag__.call" not in module.to_code(caller, False, stage="compiled")
        assert module.to_graph(entity=caller, recursive=True, experimental_optional_features=None)(-2) == 3
        with pytest.raises(TypeError, match="positional"):
            module.to_code(caller, True, None, "jumps")
    for decorate in ag.do_not_convert, ag.experimental.do_not_convert, rt.autograph.experimental.do_not_convert:
        @decorate()
        def left(x):
            return x

        assert left(1) == 1 and ag.convert(left) is left
        assert decorate(func=left) is left


def test_settings_of_tf_that_do_nothing() -> None:
    for device in rt.config.list_physical_devices("GPU"):
        rt.config.experimental.set_memory_growth(device, True)
    rt.config.experimental.set_memory_growth("CPU:0", True)
    rt.config.experimental.enable_op_determinism()
    for devices in (rt.config.experimental.list_physical_devices, rt.config.experimental.list_logical_devices):
        assert devices("GPU") == [] and len(devices()) == 1
    rt.config.set_visible_devices([], "GPU")
    rt.config.experimental.set_visible_devices(rt.config.get_visible_devices(), "CPU")
    for hidden in ([], ["GPU:0"]):
        with pytest.raises(ValueError, match="cannot be hidden|Unrecognized device: 'GPU:0'"):
            rt.config.set_visible_devices(hidden)
    rt.autograph.set_verbosity(3, alsologtostdout=True)
    rt.experimental.numpy.experimental_enable_numpy_behavior()


INTS, FLOATS = np.array([1, 2]), np.array([3.0, 4.0], np.float32)


@pytest.mark.parametrize("way", [lambda f: f, rt.function, lambda f: rt.function(f, executor="numpy")])
@pytest.mark.parametrize(("function", "expected"), [
    (lambda t, x, y: t.multiply(x, y), INTS * FLOATS), (lambda t, x, y: t.dot(x, y), np.dot(INTS, FLOATS)),
    (lambda t, x, y: t.add(x, 1.5), INTS + 1.5), (lambda t, x, y: t.add(y, np.ones(2)), FLOATS + np.ones(2)),
    (lambda t, x, y: t.add([1.0, 2.0], 1), np.array([2.0, 3.0])), (lambda t, x, y: t.sqrt(2.0), np.sqrt(2.0)),
    (lambda t, x, y: t.power(y, 2), FLOATS ** 2), (lambda t, x, y: t.equal(x, y), INTS == FLOATS),
    (lambda t, x, y: t.concatenate([x, y]), np.concatenate([INTS, FLOATS])),
    (lambda t, x, y: t.vstack((y, [1, 2])), np.vstack([FLOATS, [1, 2]])),
    (lambda t, x, y: t.where(x > 1, x, y), np.where(INTS > 1, INTS, FLOATS)),
    (lambda t, x, y: t.clip(x, y, 2), np.clip(INTS, FLOATS, 2)),
    (lambda t, x, y: t.array([1.0, 2.0]), np.array([1.0, 2.0])), (lambda t, x, y: t.asarray([1, 2]), np.array([1, 2])),
    (lambda t, x, y: t.array([1, 2], np.float32), np.array([1, 2], np.float32)), (lambda t, x, y: t.array(y), FLOATS),
])
def test_numpy_of_tf_promotes_dtypes(way: Any, function: Any, expected: Any) -> None:
    found = way(lambda x, y: function(rt.experimental.numpy, x, y))(rt.constant(INTS), rt.constant(FLOATS)).numpy()
    assert found.dtype == expected.dtype and found.tolist() == expected.tolist()


def test_numpy_of_tf_may_prefer_float32() -> None:
    numpy = rt.experimental.numpy
    numpy.experimental_enable_numpy_behavior(prefer_float32=True)
    try:
        assert numpy.array([1.0]).dtype is numpy.add([1.0], 2.0).dtype is rt.float32
        assert numpy.array([1]).dtype is rt.int64 and numpy.array(np.ones(1)).dtype is rt.float64
    finally:
        numpy.experimental_enable_numpy_behavior()


def test_names_of_the_first_lines_of_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    assert rt.version.VERSION == rt.__version__ == ag.__version__
    assert not rt.inside_function() and rt.function(lambda: rt.constant(rt.inside_function()))()
    numpy = rt.experimental.numpy
    assert isinstance(numpy.ones([2]), numpy.ndarray) and "sum" in dir(numpy) and numpy.sum(numpy.ones([2])) == 2
    assert rt.compat.as_text(b"a") == rt.compat.as_str("a") == rt.compat.as_str_any(b"a") == "a"
    assert rt.compat.as_bytes("é") == "é".encode() and rt.compat.as_str_any(1) == "1"
    for wrong in (rt.compat.as_bytes, rt.compat.as_text):
        with pytest.raises(TypeError, match="Expected binary or unicode string, got 1"):
            wrong(1)


def test_asserts_at_top_level() -> None:
    for check, good, wrong in ((rt.assert_less, (1, 2), (2, 2)), (rt.assert_greater, (2, 1), (2, 2)),
                               (rt.assert_equal, (2, 2), (1, 2))):
        check(*good)
        rt.function(lambda x, y, check=check: check(x, y))(*map(rt.constant, good))
        with pytest.raises(rt.errors.InvalidArgumentError, match="did not hold"):
            rt.function(lambda x, y, check=check: check(x, y))(*map(rt.constant, wrong))
    rt.assert_rank(rt.zeros([2]), 1)


def test_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    logging, logger = rt.compat.v1.logging, rt.get_logger()
    level = logger.level
    try:
        logging.set_verbosity(logging.ERROR)
        assert logging.get_verbosity() == logging.ERROR == logger.level
        logging.warn("not shown")
        logging.error("%d errors", 2)
        logger.setLevel("DEBUG")
        logging.debug("and details")
        assert caplog.messages == ["2 errors", "and details"]
    finally:
        logger.setLevel(level)


def test_names_of_tf_1_say_what_to_do() -> None:
    with pytest.raises(AttributeError, match=r"runtime.compat.v1.*'Session': TF 1's sessions are not there"):
        _ = rt.compat.v1.Session
    with pytest.raises(AttributeError, match=r"runtime.compat.v1.*'losses': this version does not have it"):
        _ = rt.compat.v1.losses


def test_settings_that_are_kept() -> None:
    config = rt.config
    before = config.optimizer.get_jit(), config.get_soft_device_placement()
    try:
        for enabled, kept in ((True, "autoclustering"), ("autoclustering", "autoclustering"), (False, "")):
            config.optimizer.set_jit(enabled)
            assert config.optimizer.get_jit() == kept
        config.set_soft_device_placement(False)
        assert not config.get_soft_device_placement()
    finally:
        config.optimizer.set_jit(before[0] != "")
        config.set_soft_device_placement(before[1])
    config.optimizer.set_experimental_options({"constant_folding": True})
    assert config.optimizer.get_experimental_options() == {"constant_folding": True}
    assert config.threading.get_inter_op_parallelism_threads() == 0
    config.threading.set_inter_op_parallelism_threads(2)
    assert config.threading.get_inter_op_parallelism_threads() == 2
    config.threading.set_inter_op_parallelism_threads(0)
    with pytest.raises(ValueError, match="at least 0"):
        config.threading.set_inter_op_parallelism_threads(-1)


def test_checks_of_ranks_dtypes_and_iterables() -> None:
    check = rt.debugging
    check.assert_rank_in(rt.zeros([2]), (0, 1))
    with pytest.raises(ValueError, match=r"of x\n.*must have rank 0 or 2, but it is float32\[2\]"):
        check.assert_rank_in(rt.zeros([2]), (0, 2), "of x")
    assert check.assert_same_float_dtype() is rt.float32
    assert check.assert_same_float_dtype([rt.zeros([], rt.float64), rt.ones([2], rt.float64)]) is rt.float64
    assert check.assert_same_float_dtype(dtype="float16") is rt.float16
    for tensors, dtype in (([rt.zeros([], rt.float64), 1.0], None), ([rt.constant(1)], None), ([], rt.int32),
                           ([rt.zeros([])], rt.float64)):
        with pytest.raises(rt.errors.DTypeError):
            check.assert_same_float_dtype(tensors, dtype)
    check.assert_proper_iterable([1, 2])
    check.assert_proper_iterable({"a": 1})
    for value in (rt.zeros([2]), np.zeros(2), "text", b"text", 1):
        with pytest.raises(TypeError, match="other iterable of values is wanted"):
            check.assert_proper_iterable(value)


def test_tracebacks_with_all_frames() -> None:
    @rt.function
    def f(x):
        return x + rt.ones([3])

    def frames() -> list[str]:
        with pytest.raises(rt.errors.ShapeError) as caught:
            f(rt.ones([2]))
        return [str(entry.path) for entry in caught.traceback]

    assert rt.debugging.is_traceback_filtering_enabled()
    assert all(path == __file__ for path in frames())
    rt.debugging.disable_traceback_filtering()
    try:
        assert not rt.debugging.is_traceback_filtering_enabled() and any("/runtime/" in path for path in frames())
    finally:
        rt.debugging.enable_traceback_filtering()


def test_types_for_isinstance_and_annotations() -> None:
    f = rt.function(lambda x: x)
    types = rt.types.experimental
    assert isinstance(f, types.GenericFunction) and isinstance(f, types.PolymorphicFunction)
    assert isinstance(f.get_concrete_function(1.0), types.ConcreteFunction)
    assert isinstance(rt.constant(1), types.Tensor) and isinstance(rt.constant(1), types.TensorLike)
    for like in (True, 1, 1.5, 1j, "a", b"a", [1], (1,), np.ones(2), np.float32(1), rt.Variable(1)):
        assert isinstance(like, types.TensorLike), like
    assert not isinstance({}, types.TensorLike) and not isinstance(None, types.TensorLike)
    dataset = rt.data.Dataset.range(6).window(2)
    assert isinstance(rt.TensorSpec([]), rt.TypeSpec) and isinstance(dataset.element_spec, rt.TypeSpec)
    assert not isinstance(rt.constant(1), rt.TypeSpec)


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_older_names_of_stateless_numbers(executor: str) -> None:
    old, new = rt.random.experimental, rt.random
    for one, other in ((old.stateless_split, new.split), (old.stateless_fold_in, new.fold_in)):
        found = rt.function(lambda seed, one=one: one(seed, 3), executor=executor)(rt.constant([1, 2]))
        assert found.numpy().tolist() == other([1, 2], 3).numpy().tolist()
    assert old.Generator.from_seed(1).normal([2]).numpy().tolist() == new.Generator.from_seed(1).normal(
        [2]).numpy().tolist()
    rt.compat.v1.set_random_seed(3)
    first = rt.random.normal([2]).numpy().tolist()
    rt.random.set_seed(3)
    assert rt.random.normal([2]).numpy().tolist() == first


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_dropout_of_given_numbers(executor: str) -> None:
    x, seed = rt.range(1.0, 9.0), rt.constant([4, 5])
    drop = rt.function(lambda x, seed: rt.nn.experimental.stateless_dropout(x, 0.5, seed), executor=executor)
    kept = rt.random.stateless_uniform([8], seed).numpy() >= 0.5
    assert 0 < kept.sum() < 8
    np.testing.assert_allclose(drop(x, seed), np.where(kept, x.numpy() / 0.5, 0), rtol=1e-6)
    found = rt.nn.experimental.general_dropout(
        x, 0.5, lambda shape, dtype: rt.cast(rt.range(8) % 2, dtype) * 0.9, noise_shape=[8])
    assert found.numpy().tolist() == [0, 4, 0, 8, 0, 12, 0, 16]
