"""Patches and structural similarity of images, against loops over the windows."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on

RNG = np.random.default_rng(0)
IMAGES = RNG.random((2, 7, 9, 3), np.float32)


def patches(x: Any, size: tuple[int, int], stride: tuple[int, int], rate: tuple[int, int], padding: str) -> Any:
    spans = [(n - 1) * r + 1 for n, r in zip(size, rate, strict=True)]
    if padding == "SAME":
        missing = [max((-(-n // s) - 1) * s + span - n, 0)
                   for n, s, span in zip(x.shape[1:3], stride, spans, strict=True)]
        x = np.pad(x, [(0, 0), *((m // 2, m - m // 2) for m in missing), (0, 0)])
    rows, columns = (range(0, n - span + 1, s) for n, span, s in zip(x.shape[1:3], spans, stride, strict=True))
    return np.stack([np.stack([
        x[:, i:i + spans[0]:rate[0], j:j + spans[1]:rate[1]].reshape(len(x), -1) for j in columns], 1)
        for i in rows], 1)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("size", "stride", "rate"), [
    ((3, 2), (2, 2), (1, 1)), ((2, 3), (1, 2), (2, 1)), ((1, 1), (3, 3), (1, 1)), ((3, 3), (1, 1), (2, 2))])
def test_patches(size: tuple[int, int], stride: tuple[int, int], rate: tuple[int, int], padding: str) -> None:
    def taken(x: Any) -> Any:
        return rt.image.extract_patches(x, [1, *size, 1], [1, *stride, 1], [1, *rate, 1], padding)

    wanted = patches(IMAGES, size, stride, rate, padding)
    np.testing.assert_array_equal(taken(IMAGES), wanted)
    for executor in ("numpy", "native"):
        traced = rt.function(taken, executor=executor, input_signature=[rt.TensorSpec([None, None, None, 3])])
        np.testing.assert_array_equal(traced(IMAGES), wanted)


def test_derivative_of_patches_and_errors() -> None:
    gradient = rt.grad(lambda x: rt.reduce_sum(rt.image.extract_patches(
        x, [1, 3, 3, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID")))(IMAGES)
    counts = [1, 2, 3, 3, 3, 2, 1], [1, 2, 3, 3, 3, 3, 3, 2, 1]
    np.testing.assert_allclose(gradient[0, :, :, 0], np.outer(*counts))
    for bad in ([3, 3, 1, 1], [1, 0, 1, 1], [1, 2, 2]):
        with pytest.raises(rt.errors.InvalidArgumentError, match=r"are \[1, of rows, of columns, 1\]"):
            rt.image.extract_patches(IMAGES, bad, [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
    with pytest.raises(rt.errors.InvalidArgumentError, match='is "SAME" or "VALID"'):
        rt.image.extract_patches(IMAGES, [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], "REFLECT")


def parts_of_similarity(x: Any, y: Any, size: int) -> tuple[Any, Any]:
    """Of images [height, width] with values up to 1, for each window: the similarity, and that of the contrast."""
    places = np.arange(size) - (size - 1) / 2
    weights = np.exp(-0.5 * (places[:, None] ** 2 + places ** 2) / 1.5 ** 2)
    weights /= weights.sum()
    found, contrast = (np.zeros([n - size + 1 for n in x.shape]) for _ in range(2))
    for at in np.ndindex(*found.shape):
        a, b = (image[at[0]:at[0] + size, at[1]:at[1] + size] for image in (x, y))
        mean_a, mean_b = (weights * a).sum(), (weights * b).sum()
        variances = (weights * (a - mean_a) ** 2).sum() + (weights * (b - mean_b) ** 2).sum()
        covariance = (weights * (a - mean_a) * (b - mean_b)).sum()
        contrast[at] = (2 * covariance + 9e-4) / (variances + 9e-4)
        found[at] = contrast[at] * (2 * mean_a * mean_b + 1e-4) / (mean_a ** 2 + mean_b ** 2 + 1e-4)
    return found, contrast


def similarity(x: Any, y: Any, size: int) -> Any:
    return parts_of_similarity(x, y, size)[0]


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_structural_similarity(executor: str) -> None:
    other = np.clip(IMAGES * 0.8 + RNG.normal(size=IMAGES.shape) * 0.05, 0, 1).astype(np.float32)
    windows = np.stack([[similarity(a[..., k], b[..., k], 5) for k in range(3)]
                        for a, b in zip(IMAGES, other, strict=True)])

    def compared(x: Any, y: Any) -> Any:
        return rt.image.ssim(x, y, 1.0, 5), rt.image.ssim(x, y, 1.0, 5, return_index_map=True)

    whole, by_window = on(executor, compared)(IMAGES, other)
    np.testing.assert_allclose(whole, windows.mean((1, 2, 3)), rtol=1e-4)
    np.testing.assert_allclose(by_window, windows.mean(1), rtol=1e-3, atol=1e-4)


def test_similarity_of_equal_and_of_small_images() -> None:
    image = (RNG.random((12, 11, 1)) * 255).astype(np.uint8)
    np.testing.assert_allclose(rt.image.ssim(image, image, 255), 1.0, rtol=1e-6)
    with pytest.raises(rt.errors.InvalidArgumentError, match="windows of 11 pixels"):
        rt.image.ssim(IMAGES, IMAGES, 1.0)


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_similarity_on_several_scales(executor: str) -> None:
    x = RNG.random((2, 25, 22, 2)).astype(np.float32)
    y = np.clip(x * 0.7 + RNG.normal(size=x.shape) * 0.1, 0, 1).astype(np.float32)
    weights = (0.2, 0.3, 0.5)

    def half(image: Any) -> Any:
        even = np.pad(image, [(0, 0), *[(0, n % 2) for n in image.shape[1:3]], (0, 0)], mode="edge")
        n, rows, columns, channels = even.shape
        return even.reshape(n, rows // 2, 2, columns // 2, 2, channels).mean((2, 4))

    wanted, scaled = np.ones((2, 2)), (np.float64(x), np.float64(y))
    for k, weight in enumerate(weights):
        for i, c in np.ndindex(2, 2):
            a, b = (image[i, :, :, c] for image in scaled)
            mean = parts_of_similarity(a, b, 3)[0 if k == len(weights) - 1 else 1].mean()
            wanted[i, c] *= max(mean, 0) ** weight
        scaled = half(scaled[0]), half(scaled[1])
    found = rt.function(lambda x, y: rt.image.ssim_multiscale(x, y, 1.0, weights, filter_size=3), executor=executor)
    np.testing.assert_allclose(found(x, y), wanted.mean(1), rtol=1e-4)


def test_scales_of_equal_small_and_integer_images() -> None:
    image = (RNG.random((176, 180, 1)) * 255).astype(np.uint8)
    np.testing.assert_allclose(rt.image.ssim_multiscale(image, image, 255), 1.0, rtol=1e-6)
    with pytest.raises(rt.errors.InvalidArgumentError, match="windows of 11 pixels"):
        rt.image.ssim_multiscale(image[:100], image[:100], 255)
