"""The functions that Keras asks of a backend: all are there, and agree with NumPy, eagerly and in traced code."""
import ast
import importlib
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

import runtime as rt

BACKENDS = Path(keras.src.backend.__file__).parent
RNG = np.random.default_rng(5)


@pytest.mark.parametrize("name", ["numpy", "nn", "math", "linalg", "random", "image"])
def test_every_function_of_keras_own_backends_is_there(name):
    ours = importlib.import_module(f"runtime.keras.backend.{name}")
    wanted = {node.name for node in ast.parse((BACKENDS / "numpy" / f"{name}.py").read_text()).body
              if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
    assert not {each for each in wanted if not hasattr(ours, each)}


def both(function, *args):
    """The result, which is the same in traced code."""
    eager = function(*args)
    traced = rt.function(function)(*[rt.constant(arg) for arg in args])
    for one, other in zip(keras.tree.flatten(eager), keras.tree.flatten(traced), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
        assert one.dtype == other.dtype
    return eager


X = RNG.standard_normal((3, 4)).astype(np.float32)
Y = RNG.standard_normal((3, 4)).astype(np.float32)


@pytest.mark.parametrize(("ours", "numpys"), [
    (lambda x: ops.quantile(x, [0.1, 0.5], axis=1), lambda x: np.quantile(x, [0.1, 0.5], axis=1)),
    (lambda x: ops.median(x, axis=(0, 1), keepdims=True), lambda x: np.median(x, axis=(0, 1), keepdims=True)),
    (lambda x: ops.histogram(x[0], bins=4), lambda x: np.histogram(x[0], bins=4)),
    (lambda x: ops.pad(x, ((1, 2), (0, 3)), "edge"), lambda x: np.pad(x, ((1, 2), (0, 3)), "edge")),
    (lambda x: ops.pad(x, ((1, 2), (0, 3)), "wrap"), lambda x: np.pad(x, ((1, 2), (0, 3)), "wrap")),
    (lambda x: ops.diagonal(x, offset=1), lambda x: np.diagonal(x, offset=1)),
    (lambda x: ops.diag(x[0], k=-2), lambda x: np.diag(x[0], k=-2)),
    (lambda x: ops.diag(x[0], k=1), lambda x: np.diag(x[0], k=1)),
    (lambda x: ops.unique(ops.round(x), return_counts=True), lambda x: np.unique(np.round(x), return_counts=True)),
    (lambda x: ops.array_split(x, 3, axis=1), lambda x: np.array_split(x, 3, axis=1)),
    (lambda x: ops.correlate(x[0], x[1], "same"), lambda x: np.correlate(x[0], x[1], "same")),
    (lambda x: ops.kron(x, x[:2]), lambda x: np.kron(x, x[:2])),
    (lambda x: ops.corrcoef(x), np.corrcoef),
    (lambda x: ops.linspace(x[0], x[1], 5, axis=1), lambda x: np.linspace(x[0], x[1], 5, axis=1)),
    (lambda x: ops.i0(x), np.i0),
    (lambda x: ops.kaiser(7, 8.6) + x[0, 0] * 0, lambda x: np.kaiser(7, 8.6)),
    (lambda x: ops.nanvar(ops.where(x > 1, np.nan, x), axis=0),
     lambda x: np.nanvar(np.where(x > 1, np.nan, x), axis=0)),
    (lambda x: ops.cross(x[:, :3], x[:, 1:]), lambda x: np.cross(x[:, :3], x[:, 1:])),
    (lambda x: ops.trapezoid(x, dx=0.5), lambda x: np.trapezoid(x, dx=0.5) if hasattr(np, "trapezoid")
     else np.trapz(x, dx=0.5)),
    (lambda x: ops.norm(x, ord="nuc"), lambda x: np.linalg.norm(x, ord="nuc")),
    (lambda x: ops.pinv(x), np.linalg.pinv),
])
def test_agrees_with_numpy(ours, numpys):
    for one, other in zip(keras.tree.flatten(both(ours, X)), keras.tree.flatten(numpys(X)), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize(("x", "y", "wanted"), [
    ("int32", "float16", "float16"), ("uint8", "int8", "int16"), ("bool", "int16", "int16"), ("int64", "int8", "int32"),
    ("float16", "float32", "float32"), ("uint32", "int32", "int32"), ("float64", "float64", "float64")])
def test_operands_of_different_dtypes_take_the_dtype_of_keras(x, y, wanted):
    found = ops.add(ops.ones([2], x), ops.ones([2], y))
    assert keras.backend.standardize_dtype(found.dtype) == wanted
    assert found.numpy().tolist() == [2, 2]


def test_python_numbers_adapt():
    assert ops.multiply(ops.exp(ops.ones([2], "float64")), 2.0).dtype == "float64"
    assert ops.add(ops.ones([2], "int64"), 1).dtype == "int64"
    assert ops.add(ops.ones([2], "float16"), 1.5).dtype == "float16"
    assert ops.multiply(ops.ones([2], "int8"), 2.0).dtype == "float32"
    assert ops.add(ops.ones([2], "bool"), ops.ones([2], "bool")).dtype == "bool"


def test_division_of_ints_by_zero_is_no_error():
    assert ops.floor_divide([7, -7], [2, 0]).numpy().tolist() == [3, -1]
    assert ops.mod([7, 7], [-2, 0]).numpy().tolist() == [-1, 7]
    assert ops.power([2, -1], [-1, -3]).numpy().tolist() == [0, -1]


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize(("size", "stride", "dilation", "extra"), [
    (3, 1, 1, None), (3, 2, 1, None), (2, 3, 1, None), (4, 3, 1, 1), (3, 1, 2, None), (1, 2, 1, None)])
def test_a_transposed_convolution_spreads_its_input(padding, size, stride, dilation, extra):
    """Each element of the input adds its multiple of the filter, every `stride` elements."""
    x = RNG.standard_normal((1, 5, 1)).astype(np.float32)
    w = RNG.standard_normal((size, 1, 1)).astype(np.float32)
    full = np.zeros((5 - 1) * stride + (size - 1) * dilation + 1)
    for i in range(5):
        full[i * stride:i * stride + (size - 1) * dilation + 1:dilation] += x[0, i, 0] * w[:, 0, 0]
    found = np.asarray(both(lambda x, w: ops.conv_transpose(x, w, stride, padding, extra, "channels_last", dilation),
                            x, w))
    length = found.shape[1]
    same = [start for start in range(-stride, len(full)) if np.allclose(
        [full[start + i] if 0 <= start + i < len(full) else 0 for i in range(length)], found[0, :, 0], atol=1e-5)]
    assert same
    if extra is None:
        valid = 4 * stride + max((size - 1) * dilation + 1, stride)
        assert length == (5 * stride if padding == "same" else valid)


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_folding_is_the_inverse_of_blocks(data_format):
    x = RNG.standard_normal((2, 4, 8, 8)).astype(np.float32)
    there = ops.space_to_depth(x, 2, data_format=data_format)
    np.testing.assert_array_equal(ops.depth_to_space(there, 2, data_format=data_format), x)


def test_unfold_and_fold():
    x = RNG.standard_normal((1, 2, 4, 5)).astype(np.float32)
    windows = both(lambda x: ops.unfold(x, (2, 2), stride=2, padding=1), x)
    back = ops.fold(windows, (4, 5), (2, 2), stride=2, padding=1)
    np.testing.assert_allclose(back, x, rtol=1e-6)


def test_attention_in_groups_is_that_of_repeated_heads():
    q = RNG.standard_normal((2, 3, 4, 8)).astype(np.float32)
    k, v = RNG.standard_normal((2, 2, 5, 2, 8)).astype(np.float32)
    mask = RNG.random((2, 4, 3, 5)) < 0.7
    found = both(lambda q, k, v: ops.dot_product_attention(q, k, v, mask=mask), q, k, v)
    wide = ops.dot_product_attention(q, np.repeat(k, 2, 2), np.repeat(v, 2, 2), mask=mask)
    np.testing.assert_allclose(found, wide, rtol=1e-4, atol=1e-5)


def test_ctc_loss_sums_over_all_alignments():
    logits = RNG.standard_normal((1, 4, 3)).astype(np.float32)
    chances = np.exp(logits[0]) / np.exp(logits[0]).sum(-1, keepdims=True)
    total = 0.0
    for path in np.ndindex(3, 3, 3, 3):
        merged = [a for a, b in zip(path, (-1, *path), strict=False) if a != b]
        if [label for label in merged if label] == [1, 2]:
            total += np.prod([chances[t, label] for t, label in enumerate(path)])
    found = both(lambda x: ops.ctc_loss([[1, 2]], x, [2], [4]), logits)
    np.testing.assert_allclose(found, [-np.log(total)], rtol=1e-4)


def test_what_is_drawn_depends_on_the_seed_alone():
    for draw in (lambda seed: keras.random.normal([4], seed=seed), lambda seed: keras.random.gamma([4], 2.0, seed=seed),
                 lambda seed: keras.random.dropout(ops.ones([8]), 0.5, seed=seed)):
        assert (draw(3).numpy() == draw(3).numpy()).all() and (draw(3).numpy() != draw(4).numpy()).any()
        np.testing.assert_array_equal(rt.function(lambda: draw(3))(), draw(3))


def test_bad_input():
    with pytest.raises(ValueError, match="either both should be"):
        ops.where([True], [1.0])
    with pytest.raises(TypeError, match="takes ints or bools"):
        ops.bitwise_and([1.5], [1])
    with pytest.raises(ValueError, match="only supports 4D"):
        ops.dot_product_attention(X, X, X)


IMAGE = RNG.random((2, 5, 6, 3)).astype(np.float32)


def test_bilinear_resizing_interpolates():
    found = both(lambda x: ops.image.resize(x, (10, 6)), IMAGE)
    np.testing.assert_allclose(found[:, 2], 0.25 * IMAGE[:, 0] + 0.75 * IMAGE[:, 1], rtol=1e-5)
    np.testing.assert_allclose(ops.image.resize(IMAGE, (5, 3), antialias=True).numpy().mean((1, 2)).shape, (2, 3))
    first = ops.image.resize(np.moveaxis(IMAGE, -1, 1), (10, 6), data_format="channels_first")
    np.testing.assert_allclose(np.moveaxis(np.asarray(first), 1, -1), found, rtol=1e-6)


def test_an_affine_transform_moves_an_image():
    found = both(lambda x: ops.image.affine_transform(x, [1.0, 0, 1, 0, 1, 2, 0, 0], fill_value=7.0), IMAGE)
    np.testing.assert_allclose(found[:, :3, :5], IMAGE[:, 2:, 1:], rtol=1e-6)
    assert (found[:, 3:].numpy() == 7).all()


@pytest.mark.parametrize(("mode", "wanted"), [
    ("constant", [9, 9, 0, 1, 2, 9, 9]), ("nearest", [0, 0, 0, 1, 2, 2, 2]), ("wrap", [1, 2, 0, 1, 2, 0, 1]),
    ("mirror", [2, 1, 0, 1, 2, 1, 0]), ("reflect", [1, 0, 0, 1, 2, 2, 1])])
def test_coordinates_outside_of_an_image(mode, wanted):
    found = ops.image.map_coordinates(np.arange(3.0), np.arange(-2.0, 5)[None], 1, mode, 9)
    assert found.numpy().tolist() == wanted


def test_colours_there_and_back():
    np.testing.assert_allclose(ops.image.hsv_to_rgb(both(ops.image.rgb_to_hsv, IMAGE)), IMAGE, atol=1e-5)


def test_bfloat16_has_keras_results():
    x = ops.ones([2, 3], "bfloat16")
    assert ops.add(x, ops.ones([3], "float16")).dtype == "float32"
    assert ops.mean(x).dtype == "bfloat16" and ops.matmul(x, ops.transpose(x)).numpy().tolist() == [[3, 3], [3, 3]]
