"""The names of the package, and signatures as in TF 2."""
from __future__ import annotations

import numpy as np
import pytest

import autograph as ag
import runtime as rt


def test_dir_shows_the_public_names() -> None:
    names = {*dir(rt)}
    assert {"function", "Tensor", "nn", "numpy", "vmap"} <= names
    assert not {"core", "ops", "staging", "backends", "hide_package", "difflib", "annotations"} & names
    for name in names:
        assert hasattr(rt, name)


def test_a_name_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(AttributeError, match="no attribute 'GradienTape'. Did you mean: 'GradientTape'?"):
        rt.GradienTape
    with pytest.raises(AttributeError, match="module 'runtime' has no attribute 'xyzzy': this version does"):
        rt.xyzzy
    assert not hasattr(rt, "estimator")


def test_softplus() -> None:
    assert float(rt.nn.softplus(features=0.0)) == float(rt.math.softplus(features=0.0)) == pytest.approx(np.log(2))


@pytest.mark.parametrize("make", [rt.py_function, rt.numpy_function])
def test_functions_of_python_as_decorators(make) -> None:
    seen = []

    @make(Tout=rt.float32)
    def scaled(x, by):
        seen.append(type(x))
        return np.float32(x * by)

    @rt.function
    def f(x):
        y = 0.0
        for _ in rt.range(3):
            y += scaled(x, 2.0)
        return y

    assert float(f(rt.constant(1.5))) == 9.0
    assert len(seen) == 3 and scaled.__name__ == "scaled"
    assert float(make(lambda x: x + 1, Tout=rt.float32)(rt.constant(1.0))) == 2.0


def test_submodules_and_names_of_tf1_say_what_to_write() -> None:
    for ask, text in (
        (lambda: rt.linalg.experimental, "module 'runtime.linalg' has no attribute 'experimental': this version does "
                                         "not have it"),
        (lambda: rt.nn.softmaxx, "module 'runtime.nn' has no attribute 'softmaxx'. Did you mean: 'softmax'?"),
        (lambda: rt.test.TestCas, "module 'runtime.test' has no attribute 'TestCas'. Did you mean: 'TestCase'?"),
        (lambda: rt.dtypes.int33, "module 'runtime.dtypes' has no attribute 'int33'. Did you mean: 'int32'?"),
        (lambda: ag.to_cod, "module 'autograph' has no attribute 'to_cod'. Did you mean: 'to_code'?"),
        (lambda: rt.Session, "module 'runtime' has no attribute 'Session': TF 1's sessions are not there: call "
                             "functions"),
        (lambda: rt.log, "module 'runtime' has no attribute 'log': it is rt.math.log"),
        (lambda: rt.stateless_normal, "module 'runtime' has no attribute 'stateless_normal': it is "
                                      "rt.random.stateless_normal"),
        (lambda: rt.linalg.softmax, "module 'runtime.linalg' has no attribute 'softmax': it is rt.nn.softmax"),
        (lambda: rt.math.stack, "module 'runtime.math' has no attribute 'stack': it is rt.stack"),
        (lambda: rt.random.concat, "module 'runtime.random' has no attribute 'concat': this version does not have it; "
                                   "dir(runtime.random) lists what there is"),
        (lambda: rt.io.parse_sequence_example, "module 'runtime.io' has no attribute 'parse_sequence_example': TF has "
                                               "it, but this version does not"),
        (lambda: rt.linalg.xyzzy, "module 'runtime.linalg' has no attribute 'xyzzy': this version does not have it; "
                                  "dir(runtime.linalg) lists what there is"),
        (lambda: rt.initializers.GlorotUniform, "module 'runtime.initializers' has no attribute 'GlorotUniform': those "
                                                "of Keras are in rt.keras.initializers"),
        (lambda: rt.distribute.experimental.ParameterServerStrategy,
         "module 'runtime.distribute.experimental' has no attribute 'ParameterServerStrategy': this version does not "
         "have it; dir(runtime.distribute.experimental) lists what there is"),
        (lambda: rt.random.experimental.stateless_shuffle, "module 'runtime.random.experimental' has no attribute "
                                                           "'stateless_shuffle'. Did you mean: 'stateless_split'?"),
        (lambda: rt.config.experimental.get_memory_inf, "module 'runtime.config.experimental' has no attribute "
                                                        "'get_memory_inf'. Did you mean: 'get_memory_info'?"),
        (lambda: rt.lookup.experimental.DenseHashTabl, "module 'runtime.lookup.experimental' has no attribute "
                                                   "'DenseHashTabl'. Did you mean: 'DenseHashTable'?"),
        (lambda: rt.data.experimental.scann, "module 'runtime.data.experimental' has no attribute 'scann'. Did you "
                                             "mean: 'scan'?"),
        (lambda: rt.train.xyzzy, "module 'runtime.train' has no attribute 'xyzzy': this version does not have it; "
                                 "dir(runtime.train) lists what there is"),
    ):
        with pytest.raises(AttributeError) as info:
            ask()
        assert str(info.value) == text and info.value.obj is None  # of which Python would make a hint of its own
    assert not {"_PLACES", "_api", "TYPE_CHECKING", "functools", "codegen", "core"} & {*dir(ag)}
    for name in dir(ag):
        assert hasattr(ag, name)


def test_bfloat16_is_an_attribute() -> None:
    pytest.importorskip("ml_dtypes")
    assert rt.bfloat16 is rt.dtypes.bfloat16 is rt.as_dtype("bfloat16") and "bfloat16" in dir(rt)
    assert rt.zeros([2], rt.bfloat16).dtype is rt.bfloat16


def test_errors_have_the_places_and_numbers_of_tensorflow() -> None:
    codes = {name: code for name, code in vars(rt.errors).items() if name.isupper()}
    assert codes["OK"] == 0 and codes["CANCELLED"] == 1 and codes["UNAUTHENTICATED"] == 16 and len(codes) == 17
    for name in ("Cancelled", "DeadlineExceeded", "Internal", "PermissionDenied", "Unauthenticated", "Unavailable",
                 "Unknown"):
        kind = getattr(rt.errors, f"{name}Error")
        assert kind.__bases__ == (rt.errors.OpError,) and kind.__module__ == "runtime.errors"
        error = kind(None, None, "what happened")
        assert str(error) == error.message == "what happened"
        assert codes["".join("_" * (c.isupper() and i > 0) + c.upper() for i, c in enumerate(name))] == error.error_code
    assert rt.errors.ShapeError.error_code == rt.errors.INVALID_ARGUMENT


def test_linspace_has_the_dtype_of_the_quotient() -> None:
    assert rt.linspace(0, 10, 5).numpy().tolist() == [0.0, 2.5, 5.0, 7.5, 10.0]
    for start, stop, dtype in ((0, 1, rt.float64), (0.0, 1, rt.float32), (0, 1.0, rt.float32),
                               (rt.constant(0, rt.int64), 1, rt.float64), (rt.constant(0, rt.int16), 1, rt.float32),
                               (0, rt.constant(1, rt.float16), rt.float16), (np.float64(0), 1, rt.float64)):
        assert rt.linspace(start, stop, 3).dtype is dtype
        assert rt.function(lambda a=start, b=stop: rt.linspace(a, b, 3))().dtype is dtype


def test_concat_takes_lists_with_tensors_in_them() -> None:
    for make in (lambda: rt.concat((rt.constant([0, 0]), [rt.constant(1, rt.int64)]), 0),
                 lambda: rt.concat(([rt.constant(0.0), 0.0], rt.constant([1])), 0)):
        for result in make(), rt.function(make)():
            assert result.numpy().tolist() == [0, 0, 1] and result.dtype is rt.int32
    with pytest.raises(TypeError, match="int64"):
        rt.concat((rt.constant([0, 0]), rt.constant([1], rt.int64)), 0)


def test_a_range_from_one_index_to_the_next_can_be_a_shape() -> None:
    @rt.function
    def total(n):
        s = 0.0
        for i in rt.range(n):
            s += rt.reduce_sum(rt.ones(rt.range(i, i + 1))) + rt.reduce_sum(rt.ones(rt.range(i + 1, i + 3, 2)))
        return s

    assert total(rt.constant(4)) == 6.0 + 10.0
    with pytest.raises(rt.errors.ShapeError, match=r"test_names.py:\d+: zeros takes a shape of known length"):
        rt.function(lambda i, n: rt.zeros(rt.range(i, n)))(rt.constant(3), rt.constant(4))


def test_a_generators_arrays_are_cast() -> None:
    made = rt.data.Dataset.from_generator(lambda: iter([np.ones(2)]), output_types=rt.float32)
    assert [x.dtype for x in made] == [rt.float32]
    made = rt.data.Dataset.from_generator(lambda: iter([np.array([300])]), output_types=rt.uint8)
    with pytest.raises(rt.errors.DTypeError, match="yielded int64"):
        list(made)


def test_the_array_of_a_variable_can_be_changed() -> None:
    v = rt.Variable([2.0, 1.0])
    array = v.numpy()
    array.sort()
    assert array.tolist() == [1.0, 2.0] and v.numpy().tolist() == [2.0, 1.0]
