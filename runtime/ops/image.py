"""Images: tensors [..., height, width, channels], composed of ops."""
from __future__ import annotations

from typing import Any

from runtime.core.errors import InvalidArgumentError, ShapeError, locate
from runtime.core.positions import located, user_position
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import DType, as_dtype, float32, float64, int64
from runtime.ops.checks import all_of, message, require, same
from runtime.ops.concat_split import pad, tile
from runtime.ops.indexing import reverse
from runtime.ops.linalg import tensordot
from runtime.ops.logic import equal, less, where
from runtime.ops.math import abs, cast, clip_by_value, floor, log, maximum, minimum, rsqrt, saturate_cast
from runtime.ops.op_makers import named
from runtime.ops.reduction import reduce_max, reduce_mean, reduce_min, reduce_sum
from runtime.ops.shape import dim, dims, expand_dims, stack
from runtime.ops.shape import transpose as transposed
from runtime.ops.shape_refinement import assume_shape

__all__ = [
    "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_saturation", "central_crop",
    "convert_image_dtype", "crop_to_bounding_box", "flip_left_right", "flip_up_down", "grayscale_to_rgb", "hsv_to_rgb",
    "image_gradients", "pad_to_bounding_box", "per_image_standardization", "psnr", "resize_with_crop_or_pad",
    "rgb_to_grayscale", "rgb_to_hsv", "rgb_to_yiq", "rgb_to_yuv", "rot90", "sobel_edges", "total_variation",
    "transpose", "yiq_to_rgb", "yuv_to_rgb",
]


def image_of(image: Any, what: str) -> Tensor:
    """An argument as a tensor. InvalidArgumentError for a rank below 3."""
    x = convert_to_tensor(image)
    if x.ndim < 3:
        error = InvalidArgumentError(
            f"{what} takes images [..., height, width, channels], not a tensor of shape {x.shape}",
            remedy="Add an axis: x[..., None] for one channel.")
        locate(error, user_position())
        raise error
    return x


def sizes_of(x: Tensor) -> tuple[Any, Any]:
    """The height and the width: ints, or tensors where they are not known."""
    height, width = dims(x)[-3:-1]
    return height, width


def _least(x: Any, y: Any) -> Any:
    return min(x, y) if isinstance(x, int) and isinstance(y, int) else minimum(x, y)


def _most(x: Any, y: Any) -> Any:
    return max(x, y) if isinstance(x, int) and isinstance(y, int) else maximum(x, y)


def in_size(like: Tensor, x: Tensor, height: Any, width: Any) -> Tensor:
    """`x`, of which a graph knows from now on that it has the shape of `like` but for its size, where that is ints."""
    assume_shape(x, [*like.type.shape[:-3], *[n if isinstance(n, int) else None for n in (height, width)],
                     like.type.shape[-1]])
    return x


def flip_left_right(image: Any) -> Tensor:
    """Mirrored from left to right (`tf.image.flip_left_right`)."""
    return reverse(image_of(image, "flip_left_right"), [-2])


def flip_up_down(image: Any) -> Tensor:
    """Upside down (`tf.image.flip_up_down`)."""
    return reverse(image_of(image, "flip_up_down"), [-3])


def transpose(image: Any, name: str | None = None) -> Tensor:
    """Rows as columns (`tf.image.transpose`)."""
    x = image_of(image, "transpose")
    lead = [*range(x.ndim - 3)]
    return named(transposed(x, [*lead, x.ndim - 2, x.ndim - 3, x.ndim - 1]), name)


def rot90(image: Any, k: int = 1, name: str | None = None) -> Tensor:
    """Turned by 90 degrees against the clock, `k` times (`tf.image.rot90`)."""
    x = image_of(image, "rot90")
    turned = {0: lambda: x, 1: lambda: reverse(transpose(x), [-3]), 2: lambda: reverse(x, [-3, -2]),
              3: lambda: reverse(transpose(x), [-2])}
    return named(turned[k % 4](), name)


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The part that begins at an offset (`tf.image.crop_to_bounding_box`). ShapeError if it is not in the image."""
    x = image_of(image, "crop_to_bounding_box")
    for what, size, start, length in zip(("height", "width"), sizes_of(x), (offset_height, offset_width),
                                         (target_height, target_width), strict=True):
        start, length, end = _wide(start), _wide(length), _wide(start) + _wide(length)
        require(all_of(start >= 0, length > 0, end <= _wide(size)), ShapeError(message(
            "crop_to_bounding_box takes a box in the image, not one of the ", what, " ", length, " at ", start,
            " in an image of the ", what, " ", size)))
    part = x[..., offset_height:offset_height + target_height, offset_width:offset_width + target_width, :]
    return in_size(x, part, target_height, target_width)


def _wide(x: Any) -> Any:
    return x if type(x) is int else cast(x, int64)


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Zeros around the image, which begins at an offset (`tf.image.pad_to_bounding_box`)."""
    x = image_of(image, "pad_to_bounding_box")
    (top, left), (below, right) = ([n if isinstance(n, int) else cast(n, int64) for n in pair] for pair in (
        (offset_height, offset_width), (target_height, target_width)))
    height, width = sizes_of(x)
    return pad(x, [*[[0, 0]] * (x.ndim - 3), [top, below - height - top], [left, right - width - left], [0, 0]])


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """The middle, of that fraction of the height and of the width (`tf.image.central_crop`)."""
    x = image_of(image, "central_crop")
    if not 0 < central_fraction <= 1:
        raise located(ValueError(f"central_fraction must be above 0 and at most 1, not {central_fraction}"))
    height, width = sizes_of(x)
    top, left = (_margin(size, central_fraction) for size in (height, width))
    return x[..., top:height - top, left:width - left, :]


def _margin(size: Any, fraction: float) -> Any:
    if isinstance(size, int):
        return int((size - size * fraction) / 2)
    whole = cast(size, float64)
    return cast((whole - whole * fraction) / 2.0, int64)


def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Cropped or padded with zeros around the middle (`tf.image.resize_with_crop_or_pad`)."""
    x = image_of(image, "resize_with_crop_or_pad")
    height, width = sizes_of(x)
    top, left = _most((height - target_height) // 2, 0), _most((width - target_width) // 2, 0)
    x = crop_to_bounding_box(x, top, left, _least(height, target_height), _least(width, target_width))
    above, before = _most((target_height - height) // 2, 0), _most((target_width - width) // 2, 0)
    padded = pad_to_bounding_box(x, above, before, target_height, target_width)
    return in_size(x, padded, target_height, target_width)


def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Tensor:
    """The image in another dtype, with values rescaled: floats are in [0, 1] (`tf.image.convert_image_dtype`)."""
    x, target = convert_to_tensor(image), as_dtype(dtype)
    if x.dtype is target:
        return x
    if x.dtype.is_integer and target.is_integer:
        return named(_between_ints(x, target, saturate), name)
    if x.dtype.is_integer:
        return named(cast(x, target) / cast(x.dtype.limits[1], target), name)
    if target.is_floating:
        return named(cast(x, target), name)
    scaled = x * (float(target.limits[1]) + 0.5)
    return named((saturate_cast if saturate else cast)(scaled, target), name)


def _between_ints(x: Tensor, target: DType, saturate: bool) -> Tensor:
    have, want = x.dtype.limits[1], target.limits[1]
    if have > want:
        scaled = x // cast((have + 1) // (want + 1), x.dtype)
        low = cast(max(target.limits[0], x.dtype.limits[0]), x.dtype)
        return cast(clip_by_value(scaled, low, cast(want, x.dtype)) if saturate else scaled, target)
    return cast(x, target) * cast((want + 1) // (have + 1), target)


def _as_floats(x: Tensor, change: Any) -> Tensor:
    """Apply a function of floats to an image, and convert the result to the image's dtype."""
    if x.dtype.is_floating:
        found: Tensor = change(x)
        return found
    return convert_image_dtype(change(convert_image_dtype(x, float32)), x.dtype, saturate=True)


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """With `delta`, of floats in [0, 1], added to each pixel (`tf.image.adjust_brightness`)."""
    return _as_floats(image_of(image, "adjust_brightness"), lambda x: x + cast(delta, x.dtype))


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """The differences from each channel's mean multiplied by a factor (`tf.image.adjust_contrast`)."""
    def change(x: Tensor) -> Tensor:
        mean = reduce_mean(x, axis=[-3, -2], keepdims=True)
        found: Tensor = (x - mean) * cast(contrast_factor, x.dtype) + mean
        return found

    return _as_floats(image_of(images, "adjust_contrast"), change)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """`gain * image ** gamma` (`tf.image.adjust_gamma`)."""
    return _as_floats(image_of(image, "adjust_gamma"), lambda x: x ** float(gamma) * float(gain))


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """The saturation multiplied by a factor, and clipped to [0, 1] (`tf.image.adjust_saturation`)."""
    def change(x: Tensor) -> Tensor:
        hsv = rgb_to_hsv(x)
        saturation = clip_by_value(hsv[..., 1] * cast(saturation_factor, x.dtype), 0.0, 1.0)
        return hsv_to_rgb(stack([hsv[..., 0], saturation, hsv[..., 2]], -1))

    return named(_as_floats(image_of(image, "adjust_saturation"), change), name)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """The hue, in [0, 1], rotated by `delta` (`tf.image.adjust_hue`)."""
    def change(x: Tensor) -> Tensor:
        hsv = rgb_to_hsv(x)
        hue = hsv[..., 0] + cast(delta, x.dtype)
        return hsv_to_rgb(stack([hue - floor(hue), hsv[..., 1], hsv[..., 2]], -1))

    return named(_as_floats(image_of(image, "adjust_hue"), change), name)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """The luma of each pixel, as a single channel (`tf.image.rgb_to_grayscale`)."""
    def change(x: Tensor) -> Tensor:
        luma = tensordot(x, convert_to_tensor([0.2989, 0.587, 0.114], dtype=x.dtype), [[x.ndim - 1], [0]])
        found: Tensor = expand_dims(luma, -1)
        return found

    return named(_as_floats(image_of(images, "rgb_to_grayscale"), change), name)


def _pixels(what: str, images: Any) -> Tensor:
    """An argument of any rank as a tensor. ShapeError unless its last axis is the three channels."""
    x = convert_to_tensor(images)
    if not x.ndim:
        raise located(ShapeError(f"{what} takes a tensor of shape [..., 3], not a scalar"))
    require(same(dim(x, -1), 3), ShapeError(message(f"{what} takes a tensor of shape [..., 3], not ", dims(x))))
    return x


def _of_colours(what: str, images: Any, matrix: Any) -> Tensor:
    """Each pixel's three channels times a matrix."""
    x = _pixels(what, images)
    found: Tensor = tensordot(x, convert_to_tensor(matrix, dtype=x.dtype), [[x.ndim - 1], [0]])
    return found


def rgb_to_yuv(images: Any) -> Tensor:
    """Luma and two colour differences, in [-0.5, 0.5] (`tf.image.rgb_to_yuv`)."""
    return _of_colours("rgb_to_yuv", images, [
        [0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]])


def yuv_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yuv` (`tf.image.yuv_to_rgb`)."""
    return _of_colours("yuv_to_rgb", images, [
        [1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]])


def rgb_to_yiq(images: Any) -> Tensor:
    """Luma and the two colour components of NTSC (`tf.image.rgb_to_yiq`)."""
    return _of_colours("rgb_to_yiq", images, [
        [0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]])


def yiq_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yiq` (`tf.image.yiq_to_rgb`)."""
    return _of_colours("yiq_to_rgb", images, [
        [1.0, 1.0, 1.0], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]])


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """The one channel three times (`tf.image.grayscale_to_rgb`)."""
    x = image_of(images, "grayscale_to_rgb")
    return named(tile(x, [*[1] * (x.ndim - 1), 3]), name)


def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Hue, saturation and value, each in [0, 1], of floats in [0, 1] (`tf.image.rgb_to_hsv`)."""
    x = _pixels("rgb_to_hsv", images)
    red, green, blue = x[..., 0], x[..., 1], x[..., 2]
    top = reduce_max(x, axis=-1)
    span = top - reduce_min(x, axis=-1)
    safe = where(equal(span, 0.0), 1.0, span)
    hue = where(equal(top, red), (green - blue) / safe,
                where(equal(top, green), 2.0 + (blue - red) / safe, 4.0 + (red - green) / safe)) / 6.0
    hue = where(equal(span, 0.0), 0.0, where(less(hue, 0.0), hue + 1.0, hue))
    saturation = where(equal(top, 0.0), 0.0, span / where(equal(top, 0.0), 1.0, top))
    return named(stack([hue, saturation, top], -1), name)


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """The inverse of `rgb_to_hsv` (`tf.image.hsv_to_rgb`)."""
    x = _pixels("hsv_to_rgb", images)
    hue, saturation, value = x[..., 0] * 6.0, x[..., 1], x[..., 2]
    colours = (clip_by_value(abs(hue - 3.0) - 1.0, 0.0, 1.0), clip_by_value(2.0 - abs(hue - 2.0), 0.0, 1.0),
               clip_by_value(2.0 - abs(hue - 4.0), 0.0, 1.0))
    return named(stack([(1.0 + saturation * (colour - 1.0)) * value for colour in colours], -1), name)


def per_image_standardization(image: Any) -> Tensor:
    """(x - mean) / max(standard deviation, 1 / sqrt(n)) with n the number of values
    (`tf.image.per_image_standardization`), in float32."""
    x = cast(image_of(image, "per_image_standardization"), float32)
    axes = [-3, -2, -1]
    centred = x - reduce_mean(x, axis=axes, keepdims=True)
    count = cast(dims(x)[-3] * dims(x)[-2] * dims(x)[-1], float32)
    spread = reduce_mean(centred * centred, axis=axes, keepdims=True)
    return centred * minimum(rsqrt(maximum(spread, 1e-30)), count ** 0.5)


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sums of the differences of neighbours, of each image (`tf.image.total_variation`)."""
    x = image_of(images, "total_variation")
    axes = [-3, -2, -1]
    down, right = x[..., 1:, :, :] - x[..., :-1, :, :], x[..., :, 1:, :] - x[..., :, :-1, :]
    return named(reduce_sum(abs(down), axis=axes) + reduce_sum(abs(right), axis=axes), name)


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """The differences to the next row and to the next column (`tf.image.image_gradients`): two tensors of the images'
    shape, zero in the last row and in the last column."""
    x = image_of(image, "image_gradients")
    down, right = x[..., 1:, :, :] - x[..., :-1, :, :], x[..., :, 1:, :] - x[..., :, :-1, :]
    around = [[0, 0]] * (x.ndim - 3)
    return pad(down, [*around, [0, 1], [0, 0], [0, 0]]), pad(right, [*around, [0, 0], [0, 1], [0, 0]])


def sobel_edges(image: Any) -> Tensor:
    """The responses to Sobel's filters, down and right, as a new last axis (`tf.image.sobel_edges`): shape
    [..., height, width, channels, 2]. Images are mirrored at their edges."""
    x = image_of(image, "sobel_edges")
    x = pad(x, [*[[0, 0]] * (x.ndim - 3), [1, 1], [1, 1], [0, 0]], "REFLECT")
    across = x[..., :, :-2, :] + 2 * x[..., :, 1:-1, :] + x[..., :, 2:, :]
    along = x[..., :-2, :, :] + 2 * x[..., 1:-1, :, :] + x[..., 2:, :, :]
    return stack([across[..., 2:, :, :] - across[..., :-2, :, :], along[..., :, 2:, :] - along[..., :, :-2, :]], -1)


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The ratio of the largest value and the difference of two images, in decibels (`tf.image.psnr`)."""
    x, y = (cast(image_of(image, "psnr"), float32) for image in (a, b))
    squares = reduce_mean((x - y) * (x - y), axis=[-3, -2, -1])
    return named(log(cast(max_val, float32) ** 2.0 / squares) * (10.0 / 2.302585092994046), name)
