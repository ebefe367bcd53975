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


def test_bincount_of_rows():
    rows = np.array([[1, 1, 2], [0, 0, 5]], np.int32)
    each = [[0, 2, 1, 0, 0, 0], [2, 0, 0, 0, 0, 1]]
    np.testing.assert_array_equal(both(lambda x: rt.math.bincount(x, axis=-1), rows), each)
    np.testing.assert_array_equal(both(lambda x: rt.math.bincount(x, axis=0), rows), np.sum(each, 0))
    np.testing.assert_array_equal(both(lambda x: rt.math.bincount(x, axis=-1, maxlength=3, minlength=8), rows),
                                  [[0, 2, 1], [2, 0, 0]])
    np.testing.assert_array_equal(both(lambda x: rt.math.bincount(x, axis=-1, binary_output=True), rows),
                                  np.minimum(each, 1))
    weights = np.array([[1, 2, 3], [4, 5, 6]], f32)
    np.testing.assert_array_equal(both(lambda x, w: rt.math.bincount(x, w, axis=-1, minlength=7), rows, weights),
                                  [[0, 3, 3, 0, 0, 0, 0], [9, 0, 0, 0, 0, 6, 0]])
    assert rt.math.bincount([1, 1], axis=-1).numpy().tolist() == [0, 2]
    for text, call in (("axis of bincount", lambda: rt.math.bincount(rows, axis=1)),
                       ("either weights or", lambda: rt.math.bincount([1], [1], binary_output=True)),
                       (r"takes ints \[rows, n\]", lambda: rt.math.bincount([rows], axis=-1))):
        with pytest.raises(ValueError, match=text):
            call()


def test_products_of_segments():
    x = np.array([[1.5, 4], [3, -2], [5, 0], [-7, 1]], f32)
    np.testing.assert_array_equal(both(rt.math.segment_prod, x, np.array([0, 0, 1, 3], np.int32)),
                                  [[4.5, -8], [5, 0], [1, 1], [-7, 1]])
    found = both(lambda v, i: rt.math.unsorted_segment_prod(v, i, 4), x, np.array([2, 0, 2, 0], np.int32))
    np.testing.assert_array_equal(found, [[-21, -2], [1, 1], [7.5, 0], [1, 1]])
    ids = np.array([[1, 0], [1, 1]], np.int32)
    np.testing.assert_array_equal(
        both(lambda v, i: rt.math.unsorted_segment_prod(v, i, 2), np.array([[2, 3], [4, 5]], np.int32), ids), [3, 40])
    assert rt.math.unsorted_segment_prod(x[:0], rt.constant([], rt.int32), 2).numpy().tolist() == [[1, 1]] * 2
    gradient = rt.grad(lambda v: rt.reduce_sum(rt.math.segment_prod(v, [0, 0, 0, 1])))(rt.constant(x))
    np.testing.assert_array_equal(gradient, [[15, 0], [7.5, 0], [4.5, -8], [1, 1]])
    with pytest.raises(IndexError, match="out of bounds"):
        rt.math.unsorted_segment_prod(x, [0, 1, 2, 0], 2)


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


SEGMENTS = {
    "sum": (lambda rows: rows.sum(0), 0.0), "mean": (lambda rows: rows.mean(0), 0.0),
    "max": (lambda rows: rows.max(0), np.finfo(f32).min), "min": (lambda rows: rows.min(0), np.finfo(f32).max),
    "prod": (lambda rows: rows.prod(0), 1.0), "sqrt_n": (lambda rows: rows.sum(0) / np.sqrt(len(rows)), 0.0),
}


@pytest.mark.parametrize("kind", SEGMENTS)
def test_slices_with_negative_ids_are_left_out(kind):
    segment, (of_rows, empty) = getattr(rt.math, f"unsorted_segment_{kind}"), SEGMENTS[kind]
    x = np.array([[1.0, 4], [3, -2], [5, 6], [-7, 1]], f32)
    for ids in ([0, -1, 2, 0], [-5, -1, -1, -2], [2, 1, 0, 2]):
        want = [of_rows(x[np.equal(ids, k)]) if k in ids else np.full(2, empty) for k in range(3)]
        found = both(lambda v, i: segment(v, i, 3), x, np.array(ids, np.int32))
        np.testing.assert_allclose(found, np.array(want, f32), rtol=1e-6)
        np.testing.assert_array_equal(rt.function(segment)(x, rt.constant(ids), rt.constant(3)), found)
    assert both(lambda v: segment(v, rt.constant([[-1, 0], [0, 1]]), 2), x[:2]).shape == (2,)
    for ids in ([0, -1, 3, 0], [0, 1, 3, 0]):
        for run in (segment, rt.function(segment)):
            with pytest.raises(IndexError, match=r"test_segments_and_images.py:\d+: .*out of bounds"):
                run(rt.constant(x), rt.constant(ids), 3)
    gradient = rt.grad(lambda v: rt.reduce_sum(segment(v, rt.constant([0, -1, -1, 1]), 2)))(rt.constant(x))
    np.testing.assert_array_equal(gradient[1:3], np.zeros((2, 2)))
    with pytest.raises(IndexError, match="out of bounds"):
        rt.math.segment_sum(x, [-1, 0, 1, 1])


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
    with pytest.raises(ValueError, match="resize has the methods nearest, area, bilinear, .*, not 'cubic'"):
        rt.image.resize(row, [1, 4], "cubic")
    with pytest.raises(rt.errors.ShapeError, match="has to be at least 1, not 0"):
        rt.image.resize(row, [1, 0])
    with pytest.raises(rt.errors.ShapeError, match="takes images with pixels"):
        rt.image.resize(row[:0], [1, 4], "bicubic")
    with pytest.raises(rt.errors.InvalidArgumentError, match=r"takes images \[..., height, width, channels\]"):
        rt.image.resize([1.0, 2.0], [1, 4])


WAVES = np.sin(np.arange(90, dtype=f32)).reshape(6, 5, 3)
RESIZED = {  # the sum, and the second pixel of the second row, by TF 2.21
    ("bilinear", True, (3, 4)): (0.1492, 0.0001, -0.0063, -0.0069),
    ("bilinear", True, (11, 9)): (3.0856, 0.0904, 0.1653, 0.0883),
    ("bicubic", False, (3, 4)): (0.5102, 0.0256, -0.1444, -0.1816),
    ("bicubic", False, (11, 9)): (3.2100, 0.1126, 0.2171, 0.1220),
    ("bicubic", True, (3, 4)): (0.1408, -0.0006, -0.0058, -0.0057),
    ("bicubic", True, (11, 9)): (3.2066, 0.1124, 0.2168, 0.1218),
    ("area", False, (3, 4)): (0.3513, 0.0052, -0.0588, -0.0687),
    ("area", False, (11, 9)): (2.8985, 0.0852, 0.4015, 0.3486),
    ("lanczos3", False, (3, 4)): (0.5945, 0.0067, -0.2315, -0.2568),
    ("lanczos3", False, (11, 9)): (3.5219, 0.1271, 0.1731, 0.0599),
    ("lanczos5", True, (3, 4)): (0.0857, 0.0091, 0.0156, 0.0078),
    ("lanczos5", True, (11, 9)): (3.5651, 0.1354, 0.1185, -0.0073),
    ("gaussian", True, (3, 4)): (0.1676, 0.0000, -0.0054, -0.0058),
    ("gaussian", True, (11, 9)): (2.6860, 0.0893, 0.1564, 0.0797),
    ("mitchellcubic", False, (3, 4)): (0.4371, 0.0143, -0.0998, -0.1221),
    ("mitchellcubic", False, (11, 9)): (2.9899, 0.1006, 0.1727, 0.0861),
}


def test_resize_by_bicubic_takes_the_weights_of_tf():
    image = np.random.default_rng(0).random((6, 8, 3)).astype(f32)
    for size, pixel in (((5, 5), [0.5972503, 0.31664374, 0.1887724]), ((13, 7), [0.19814156, 0.80781674, 0.8736328])):
        found = both(lambda x, size=size: rt.image.resize(x, size, "bicubic"), image)
        np.testing.assert_allclose(found[1, 1], pixel, rtol=1e-6)


@pytest.mark.parametrize(("method", "antialias", "size"), RESIZED)
def test_resize_by_a_kernel(method, antialias, size):
    def resized(x):
        return rt.image.resize(x, size, method, antialias=antialias)

    found = both(resized, WAVES)
    np.testing.assert_allclose([found.sum(), *found[1, 1]], RESIZED[method, antialias, size], atol=5e-3)
    unknown = rt.function(resized, input_signature=[rt.TensorSpec([None, None, 3])])
    np.testing.assert_allclose(unknown(WAVES), found, atol=1e-5)
    by_size = rt.function(lambda x, n: rt.image.resize(x, n, method, antialias=antialias))
    np.testing.assert_allclose(by_size(WAVES, rt.constant(size)), found, atol=1e-5)


def test_resize_of_many_pixels_to_one():
    long = np.arange(60, dtype=f32).reshape(60, 1, 1)
    for method, antialias in ("area", False), ("bilinear", True):
        found = both(lambda x, m=method, a=antialias: rt.image.resize(x, [1, 1], m, antialias=a), long)
        assert found == pytest.approx(29.5)


def test_resize_keeps_a_mean_and_has_a_derivative():
    constant = np.full((5, 7, 1), 3.0, f32)
    for method in vars(rt.image.ResizeMethod).values():
        if method in ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"):
            np.testing.assert_allclose(rt.image.resize(constant, [3, 11], method, antialias=True), 3.0, rtol=1e-5)
    gradient = rt.grad(lambda x: rt.reduce_sum(rt.image.resize(x, [2, 2], "area") ** 2.0))(rt.constant(WAVES))
    step = np.zeros_like(WAVES)
    step[2, 1, 0] = 1e-2
    up, down = (float(rt.reduce_sum(rt.image.resize(x, [2, 2], "area") ** 2.0)) for x in (WAVES + step, WAVES - step))
    np.testing.assert_allclose(gradient[2, 1, 0], (up - down) / 2e-2, rtol=1e-2)


def test_resize_with_pad():
    found = both(lambda x: rt.image.resize_with_pad(x, 4, 9), WAVES)
    assert found.shape == (4, 9, 3) and (found[:, :2] == 0).all() and (found[:, 5:] == 0).all()
    np.testing.assert_allclose(found[:, 2:5], rt.image.resize(WAVES, [4, 3]))
    with pytest.raises(rt.errors.ShapeError, match="target of resize_with_pad has to be at least 1, not 0"):
        rt.image.resize_with_pad(WAVES, 0, 2)


def test_crop_and_resize():
    images, boxes = np.stack([WAVES, WAVES * 2]), np.array([[0, 0, 1, 1], [0.2, 0, 0.6, 0.5], [-0.2, 0, 1, 1]], f32)
    found = both(lambda x, b: rt.image.crop_and_resize(x, b, [1, 0, 1], [6, 5], extrapolation_value=9.0), images, boxes)
    np.testing.assert_allclose(found[0], images[1], atol=1e-5)
    np.testing.assert_allclose(found[1, ::5, ::4], WAVES[1:4:2, 0:3:2], atol=1e-5)
    assert (found[2, 0] == 9).all() and (found[2, 1:] != 9).all()
    nearest = both(lambda x, b: rt.image.crop_and_resize(x, b, [1, 0, 1], [1, 1], "nearest"), images, boxes)
    np.testing.assert_array_equal(nearest[1, 0, 0], WAVES[2, 1])
    with pytest.raises(ValueError, match="methods bilinear and nearest, not 'cubic'"):
        rt.image.crop_and_resize(images, boxes, [0, 0, 0], [1, 1], "cubic")
    with pytest.raises(rt.errors.ShapeError, match=r"boxes \[boxes, 4\]"):
        rt.image.crop_and_resize(images, boxes[0], [0], [1, 1])
    with pytest.raises(IndexError):
        rt.image.crop_and_resize(images, boxes, [0, 0, 2], [1, 1])


def test_images_changed_at_random():
    rt.random.set_seed(3)
    batch = np.stack([IMAGE] * 40)
    for flip, fixed in ((rt.image.random_flip_left_right, IMAGE[:, ::-1]), (rt.image.random_flip_up_down, IMAGE[::-1])):
        flipped = [(x == fixed).all() for x in rt.function(flip)(batch).numpy()]
        assert 5 < sum(flipped) < 35
        assert {*flipped} == {(flip(IMAGE).numpy() == fixed).all() for _ in range(40)}
    for change, adjust, low, high in (
            (lambda x: rt.image.random_brightness(x, 0.2), rt.image.adjust_brightness, -0.2, 0.2),
            (lambda x: rt.image.random_contrast(x, 0.5, 1.5), rt.image.adjust_contrast, 0.5, 1.5),
            (lambda x: rt.image.random_hue(x, 0.1), rt.image.adjust_hue, -0.1, 0.1),
            (lambda x: rt.image.random_saturation(x, 0.2, 0.8), rt.image.adjust_saturation, 0.2, 0.8)):
        for kind in np.float32, np.float64:
            image = IMAGE.astype(kind)
            one, other = change(image).numpy(), rt.function(change)(image).numpy()
            assert one.dtype == kind and not np.array_equal(one, other)
            middle = adjust(image, (low + high) / 2).numpy()
            assert abs(one - middle).max() <= max(
                abs(adjust(image, by).numpy() - middle).max() for by in np.linspace(low, high, 21)) + 1e-3
    part = rt.function(lambda x: rt.image.random_crop(x, [1, 2, 3]))
    places = {next((i, j) for i in range(2) for j in range(3) if np.array_equal(IMAGE[i:i + 1, j:j + 2], found))
              for found in (part(IMAGE).numpy() for _ in range(60))}
    assert places == {(i, j) for i in range(2) for j in range(3)}
    for name in ("brightness", "hue"):
        fn = getattr(rt.image, f"stateless_random_{name}")
        np.testing.assert_array_equal(fn(IMAGE, 0.2, [1, 2]), fn(IMAGE, 0.2, (1, 2)))
        assert not np.array_equal(fn(IMAGE, 0.2, [1, 2]), fn(IMAGE, 0.2, [1, 3]))
    for name in ("contrast", "saturation"):
        fn = getattr(rt.image, f"stateless_random_{name}")
        np.testing.assert_array_equal(fn(IMAGE, 0.2, 0.7, [1, 2]), rt.function(fn)(IMAGE, 0.2, 0.7, [1, 2]))
    assert rt.image.stateless_random_crop(IMAGE, [2, 1, 3], [0, 1]).shape == (2, 1, 3)
    for side in "left_right", "up_down":
        fn = getattr(rt.image, f"stateless_random_flip_{side}")
        np.testing.assert_array_equal(fn(batch, [1, 2]), fn(batch, [1, 2]))


def test_what_random_images_refuse():
    for text, call in (("must be non-negative, not -1", lambda: rt.image.random_brightness(IMAGE, -1)),
                       ("must be from 0 to 0.5, not 0.6", lambda: rt.image.random_hue(IMAGE, 0.6)),
                       ("a greater upper, not 1 and 1", lambda: rt.image.random_contrast(IMAGE, 1, 1)),
                       ("not -1 and 1", lambda: rt.image.random_saturation(IMAGE, -1, 1)),
                       (r"within the shape .*, not \[3, 1, 3\]", lambda: rt.image.random_crop(IMAGE, [3, 1, 3]))):
        with pytest.raises(rt.errors.InvalidArgumentError, match=text):
            call()
    crop = rt.function(lambda x: rt.image.random_crop(x, [3, 1, 3]), input_signature=[rt.TensorSpec([None] * 3)])
    assert crop(np.ones((3, 2, 3), f32)).shape == (3, 1, 3)
    with pytest.raises(rt.errors.InvalidArgumentError, match="within the shape"):
        crop(IMAGE)


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


def test_edges_of_images() -> None:
    x = np.random.default_rng(0).normal(size=(2, 4, 5, 3)).astype(np.float32)
    dy, dx = rt.function(rt.image.image_gradients)(x)
    np.testing.assert_array_equal(dy, np.pad(np.diff(x, axis=1), [(0, 0), (0, 1), (0, 0), (0, 0)]))
    np.testing.assert_array_equal(dx, np.pad(np.diff(x, axis=2), [(0, 0), (0, 0), (0, 1), (0, 0)]))
    around = np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)], "reflect")
    kernel = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    for k, weights in enumerate((kernel, kernel.T)):
        expected = sum(weights[i, j] * around[:, i:i + 4, j:j + 5] for i in range(3) for j in range(3))
        for way in rt.image.sobel_edges, rt.function(rt.image.sobel_edges):
            np.testing.assert_allclose(way(x)[..., k], expected, rtol=1e-5, atol=1e-5)


def in_many_sizes(x):
    return [rt.image.central_crop(x, 0.3), rt.image.central_crop(x, 0.87), rt.image.resize_with_crop_or_pad(x, 3, 9),
            rt.image.resize_with_crop_or_pad(x, 8, 2), rt.image.resize_with_pad(x, 3, 9),
            rt.image.resize_with_pad(x, 8, 2), rt.image.resize(x, [3, 9], preserve_aspect_ratio=True)]


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_images_of_unknown_size(executor):
    x = np.random.default_rng(0).random((2, 7, 5, 3), f32)
    traced = rt.function(in_many_sizes, executor=executor,
                         input_signature=[rt.TensorSpec([None, None, None, 3], rt.float32)])
    for image in x, x[:, :4], x.transpose(0, 2, 1, 3):
        for found, expected in zip(traced(image), in_many_sizes(image), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5)
    shapes = [spec.shape.as_list() for spec in traced.get_concrete_function().structured_outputs]
    assert shapes[0] == [None, None, None, 3] and shapes[2:6] == [[None, 3, 9, 3], [None, 8, 2, 3]] * 2


def test_padding_to_a_box_by_tensors_of_another_dtype():
    @rt.function(input_signature=[rt.TensorSpec([None, None, 1], rt.float32), *[rt.TensorSpec([], rt.int32)] * 2])
    def padded(x, top, left):
        return rt.image.pad_to_bounding_box(x, top, left, 4, 5)
    np.testing.assert_array_equal(padded(np.ones((2, 2, 1), f32), 1, 2)[..., 0],
                                  np.pad(np.ones((2, 2)), [[1, 1], [2, 1]]))


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
def test_ids_of_segments_are_sorted(name: str) -> None:
    segments = getattr(rt.math, f"segment_{name}")
    x = rt.constant([1.0, 2.0, 3.0])
    for fn in (segments, *on_both(segments).values()):
        with pytest.raises(rt.errors.InvalidArgumentError, match="not increasing(?s:.)*unsorted_segment"):
            fn(x, rt.constant([0, 2, 1]))
        with pytest.raises(rt.errors.InvalidArgumentError, match="2 ids of segments for 3 rows"):
            fn(x, rt.constant([0, 1]))
    with pytest.raises(rt.errors.InvalidArgumentError, match=r"the ids of segments are \[n\]"):
        segments(x, [[0, 1, 1]])
    by = getattr(rt.sparse, f"segment_{name}", None)
    for limit in (None, 3) if by is not None else ():
        with pytest.raises(rt.errors.InvalidArgumentError, match="not increasing"):
            by(x, [0, 1], [1, 0], limit)


def test_segments_of_chosen_rows() -> None:
    x = rt.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    for way in (lambda f: f), rt.function:
        for name, wanted in (("segment_sum", [[6, 8], [0, 0], [7, 8]]), ("segment_mean", [[3, 4], [0, 0], [7, 8]]),
                             ("segment_sqrt_n", [[6 / 2**0.5, 8 / 2**0.5], [0, 0], [7, 8]])):
            by = getattr(rt.sparse, name)
            np.testing.assert_allclose(way(lambda x, by=by: by(x, [0, 2, 3], [0, 0, 2]))(x), wanted, rtol=1e-6)
            np.testing.assert_allclose(by(x, [0, 2, 3], [0, 0, 2], 4), [*wanted, [0, 0]], rtol=1e-6)
