"""Functions that are composed of ops: segments, bins, partitions, images; eagerly, and in both executors."""
from __future__ import annotations

import math

import numpy as np
import pytest
from traced_once import on_both

import runtime as rt

f32 = np.float32


def both(fn, *args):
    """The result, which is the same eagerly and in both executors."""
    expected = np.asarray(fn(*args))
    for traced in on_both(fn).values():
        found = np.asarray(traced(*map(rt.constant, args)))
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    return expected


def test_bincount_and_histograms():
    values = np.array([1, 1, 2, 4, 1], np.int32)
    np.testing.assert_array_equal(both(rt.math.bincount, values), np.bincount(values))
    np.testing.assert_array_equal(both(lambda x: rt.bincount(x, minlength=7), values), [0, 3, 1, 0, 1, 0, 0])
    np.testing.assert_array_equal(both(lambda x: rt.bincount(x, maxlength=3), values), [0, 3, 1])
    weights = np.array([1.0, 2, 3, 4, 5], f32)
    np.testing.assert_array_equal(both(lambda x, w: rt.bincount(x, w), values, weights), np.bincount(values, weights))
    assert rt.bincount(rt.constant([], rt.int32)).shape == (0,)
    x = np.array([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], f32)
    np.testing.assert_array_equal(both(lambda v: rt.histogram_fixed_width(v, [0.0, 5.0], nbins=5), x), [2, 1, 1, 0, 2])
    np.testing.assert_array_equal(
        both(lambda v: rt.histogram_fixed_width_bins(v, [0.0, 5.0], 5), x), [0, 0, 1, 2, 4, 4])


def test_indices_and_partitions():
    np.testing.assert_array_equal(both(lambda i: rt.unravel_index(i, [3, 4]), np.array([2, 7], np.int32)),
                                  np.unravel_index([2, 7], (3, 4)))
    parts = rt.dynamic_partition(rt.constant([10, 20, 30, 40]), rt.constant([0, 0, 1, 0]), 3)
    assert [part.numpy().tolist() for part in parts] == [[10, 20, 40], [30], []]
    joined = both(lambda x: rt.dynamic_stitch([[0, 2], [1, 3]], [x[:2], x[2:]]), np.arange(8.0).reshape(4, 2))
    np.testing.assert_array_equal(joined, [[0, 1], [4, 5], [2, 3], [6, 7]])
    np.testing.assert_array_equal(both(rt.math.invert_permutation, np.array([2, 0, 1], np.int32)), [1, 2, 0])
    np.testing.assert_array_equal(
        both(lambda a, b: rt.math.confusion_matrix(a, b), np.array([1, 2, 2], np.int32), np.array([1, 0, 2], np.int32)),
        [[0, 0, 0], [0, 1, 0], [1, 0, 1]])


def test_segments():
    x = np.array([[1.0, 4], [3, -2], [5, 6], [-7, 1]], f32)
    ids = np.array([0, 0, 1, 3], np.int32)
    np.testing.assert_array_equal(both(rt.math.segment_sum, x, ids), [[4, 2], [5, 6], [0, 0], [-7, 1]])
    np.testing.assert_array_equal(both(rt.math.segment_mean, x, ids), [[2, 1], [5, 6], [0, 0], [-7, 1]])
    np.testing.assert_array_equal(both(rt.math.segment_max, x, ids), [[3, 4], [5, 6], [0, 0], [-7, 1]])
    np.testing.assert_array_equal(both(rt.math.segment_min, x, ids), [[1, -2], [5, 6], [0, 0], [-7, 1]])
    order = np.array([2, 0, 2, 0], np.int32)
    np.testing.assert_array_equal(both(lambda v, i: rt.math.unsorted_segment_max(v, i, 3), x[:, 0], order),
                                  [3, np.finfo(f32).min, 5])
    np.testing.assert_array_equal(
        both(lambda v, i: rt.math.unsorted_segment_mean(v, i, 3), x[:, 0], order), [-2, 0, 3])
    np.testing.assert_array_equal(both(lambda v, i: rt.math.unsorted_segment_min(v, i, 1), order, order * 0), [0])


def test_lgamma_polyval_and_zero_fraction():
    x = np.array([0.1, 0.5, 1.0, 2.0, 3.7, 7.9, 8.1, 30.0, 1e6, -0.5, -3.3])
    np.testing.assert_allclose(both(rt.math.lgamma, x), [math.lgamma(v) for v in x], rtol=1e-12, atol=1e-12)
    assert both(rt.math.lgamma, np.array([0.0, -2.0], f32)).tolist() == [np.inf, np.inf]
    with rt.GradientTape() as tape:
        v = rt.constant(x)
        tape.watch(v)
        y = rt.math.lgamma(v)
    np.testing.assert_allclose(tape.gradient(y, v), rt.math.digamma(v), rtol=1e-9, atol=1e-12)
    at = np.array([2.0, -1.0], f32)
    np.testing.assert_array_equal(both(lambda v: rt.math.polyval([1.0, 2.0, 3.0], v), at), [11, 2])
    assert both(rt.math.zero_fraction, np.array([0, 1, 0, 3], np.int32)) == 0.5


IMAGE = np.arange(24, dtype=f32).reshape(2, 4, 3) / 24


def test_images_move():
    np.testing.assert_array_equal(both(rt.image.flip_left_right, IMAGE), IMAGE[:, ::-1])
    np.testing.assert_array_equal(both(rt.image.flip_up_down, IMAGE), IMAGE[::-1])
    np.testing.assert_array_equal(both(rt.image.transpose, IMAGE), IMAGE.transpose(1, 0, 2))
    for k in range(-1, 5):
        np.testing.assert_array_equal(both(lambda x, k=k: rt.image.rot90(x, k), IMAGE), np.rot90(IMAGE, k))
    np.testing.assert_array_equal(both(lambda x: rt.image.crop_to_bounding_box(x, 0, 1, 2, 2), IMAGE), IMAGE[:, 1:3])
    padded = both(lambda x: rt.image.pad_to_bounding_box(x, 1, 0, 4, 5), IMAGE)
    np.testing.assert_array_equal(padded, np.pad(IMAGE, [(1, 1), (0, 1), (0, 0)]))
    np.testing.assert_array_equal(both(lambda x: rt.image.central_crop(x, 0.5), IMAGE), IMAGE[:, 1:3])
    assert both(lambda x: rt.image.resize_with_crop_or_pad(x, 3, 2), IMAGE).shape == (3, 2, 3)


def test_resize():
    row = np.array([0.0, 1.0], f32).reshape(1, 2, 1)
    np.testing.assert_allclose(both(lambda x: rt.image.resize(x, [1, 4]), row).ravel(), [0, 0.25, 0.75, 1])
    np.testing.assert_array_equal(both(lambda x: rt.image.resize(x, [2, 4], "nearest"), row)[1].ravel(), [0, 0, 1, 1])
    batch = np.stack([IMAGE, IMAGE + 1])
    assert both(lambda x: rt.image.resize(x, (4, 8)), batch).shape == (2, 4, 8, 3)
    assert both(lambda x: rt.image.resize(x, (4, 4), preserve_aspect_ratio=True), IMAGE).shape == (2, 4, 3)
    with rt.GradientTape() as tape:
        x = rt.constant(row)
        tape.watch(x)
        y = rt.reduce_sum(rt.image.resize(x, [1, 4]))
    np.testing.assert_allclose(tape.gradient(y, x).numpy().ravel(), [2, 2])
    with pytest.raises(rt.errors.UnimplementedError, match="'bicubic'"):
        rt.image.resize(row, [1, 4], "bicubic")
    with pytest.raises(rt.errors.InvalidArgumentError, match=r"takes images \[..., height, width, channels\]"):
        rt.image.resize([1.0, 2.0], [1, 4])


def test_colours():
    hsv = both(rt.image.rgb_to_hsv, np.array([[[1, 0, 0], [0, 0.5, 0], [0.2, 0.2, 0.2], [0.25, 0.5, 1]]], f32))
    np.testing.assert_allclose(hsv, [[[0, 1, 1], [1 / 3, 1, 0.5], [0, 0, 0.2], [11 / 18, 0.75, 1]]], atol=1e-6)
    np.testing.assert_allclose(both(lambda x: rt.image.hsv_to_rgb(rt.image.rgb_to_hsv(x)), IMAGE), IMAGE, atol=1e-6)
    np.testing.assert_allclose(both(lambda x: rt.image.adjust_hue(x, 1.0), IMAGE), IMAGE, atol=1e-5)
    np.testing.assert_allclose(both(lambda x: rt.image.adjust_saturation(x, 1.0), IMAGE), IMAGE, atol=1e-5)
    grey = both(rt.image.rgb_to_grayscale, IMAGE)
    np.testing.assert_allclose(grey[..., 0], IMAGE @ np.array([0.2989, 0.587, 0.114], f32), rtol=1e-5)
    assert both(rt.image.grayscale_to_rgb, grey).shape == (2, 4, 3)
    np.testing.assert_allclose(both(lambda x: rt.image.adjust_contrast(x, 2.0), IMAGE),
                               (IMAGE - IMAGE.mean((0, 1))) * 2 + IMAGE.mean((0, 1)), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(both(lambda x: rt.image.adjust_gamma(x, 2.0), IMAGE), IMAGE ** 2, rtol=1e-5)


def test_dtypes_and_measures():
    ints = np.array([[[0, 128, 255]]], np.uint8)
    np.testing.assert_allclose(both(lambda x: rt.image.convert_image_dtype(x, rt.float32), ints), ints / 255, rtol=1e-6)
    floats = np.array([[[0.0, 0.5, 1.0]]], f32)
    np.testing.assert_array_equal(both(lambda x: rt.image.convert_image_dtype(x, rt.uint8), floats), [[[0, 127, 255]]])
    np.testing.assert_array_equal(both(lambda x: rt.image.adjust_brightness(x, 0.5), ints), [[[127, 255, 255]]])
    done = both(rt.image.per_image_standardization, IMAGE)
    assert abs(done.mean()) < 1e-5 and abs(done.std() - 1) < 1e-4
    assert both(rt.image.total_variation, IMAGE) == pytest.approx(
        np.abs(np.diff(IMAGE, axis=0)).sum() + np.abs(np.diff(IMAGE, axis=1)).sum(), rel=1e-5)
    assert both(lambda a: rt.image.psnr(a, a + 0.1, 1.0), IMAGE) == pytest.approx(20, rel=1e-4)
