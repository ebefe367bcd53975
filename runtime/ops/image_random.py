"""Images changed at random: by numbers of the global generator, or with `stateless_` by a seed alone."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from runtime.core.errors import InvalidArgumentError, InvalidNumberError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import int32
from runtime.ops.effects import raise_unless
from runtime.ops.image import adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation, image_of
from runtime.ops.indexing import reverse
from runtime.ops.indexing import slice_ as part_of
from runtime.ops.logic import greater, less, less_equal, where
from runtime.ops.op_makers import named
from runtime.ops.random import uniform
from runtime.ops.reduction import reduce_all
from runtime.ops.shape import dim, dims, numbers, reshape, stack
from runtime.ops.stateless_random import stateless_uniform

__all__ = [
    "random_brightness", "random_contrast", "random_crop", "random_flip_left_right", "random_flip_up_down",
    "random_hue", "random_saturation", "stateless_random_brightness", "stateless_random_contrast",
    "stateless_random_crop", "stateless_random_flip_left_right", "stateless_random_flip_up_down",
    "stateless_random_hue", "stateless_random_saturation",
]

Draw = Callable[..., Tensor]  # as `random.uniform`, without a seed


def _global(seed: Any) -> Draw:
    return functools.partial(uniform, seed=seed)


def _by_seed(seed: Any) -> Draw:
    return functools.partial(stateless_uniform, seed=seed)


def _delta(what: str, max_delta: Any, draw: Draw, most: float | None = None) -> Tensor:
    if not isinstance(max_delta, Tensor) and (max_delta < 0 or (most is not None and max_delta > most)):
        within = "must be non-negative" if most is None else f"must be from 0 to {most}"
        raise located(InvalidNumberError(f"the max_delta of {what} {within}, not {max_delta}"))
    return draw([], minval=-max_delta, maxval=max_delta)


def _factor(what: str, lower: Any, upper: Any, draw: Draw) -> Tensor:
    if not isinstance(lower, Tensor) and not isinstance(upper, Tensor) and not 0 <= lower < upper:
        raise located(InvalidNumberError(
            f"{what} takes a non-negative lower and a greater upper, not {lower} and {upper}"))
    return draw([], minval=lower, maxval=upper)


def random_brightness(image: Any, max_delta: Any, seed: Any = None) -> Tensor:
    """`adjust_brightness` by a number from -max_delta to max_delta (`tf.image.random_brightness`). InvalidNumberError
    for a negative one."""
    return adjust_brightness(image, _delta("random_brightness", max_delta, _global(seed)))


def stateless_random_brightness(image: Any, max_delta: Any, seed: Any) -> Tensor:
    """As `random_brightness`, by `seed`, two ints (`tf.image.stateless_random_brightness`)."""
    return adjust_brightness(image, _delta("stateless_random_brightness", max_delta, _by_seed(seed)))


def random_contrast(image: Any, lower: Any, upper: Any, seed: Any = None) -> Tensor:
    """`adjust_contrast` by a factor from `lower` to below `upper` (`tf.image.random_contrast`). InvalidNumberError
    unless 0 <= lower < upper."""
    return adjust_contrast(image, _factor("random_contrast", lower, upper, _global(seed)))


def stateless_random_contrast(image: Any, lower: Any, upper: Any, seed: Any) -> Tensor:
    """As `random_contrast`, by `seed`, two ints (`tf.image.stateless_random_contrast`)."""
    return adjust_contrast(image, _factor("stateless_random_contrast", lower, upper, _by_seed(seed)))


def random_hue(image: Any, max_delta: Any, seed: Any = None) -> Tensor:
    """`adjust_hue` by a number from -max_delta to max_delta (`tf.image.random_hue`). InvalidNumberError unless 0 <=
    max_delta <= 0.5."""
    return adjust_hue(image, _delta("random_hue", max_delta, _global(seed), 0.5))


def stateless_random_hue(image: Any, max_delta: Any, seed: Any) -> Tensor:
    """As `random_hue`, by `seed`, two ints (`tf.image.stateless_random_hue`)."""
    return adjust_hue(image, _delta("stateless_random_hue", max_delta, _by_seed(seed), 0.5))


def random_saturation(image: Any, lower: Any, upper: Any, seed: Any = None) -> Tensor:
    """`adjust_saturation` by a factor from `lower` to below `upper` (`tf.image.random_saturation`). InvalidNumberError
    unless 0 <= lower < upper."""
    return adjust_saturation(image, _factor("random_saturation", lower, upper, _global(seed)))


def stateless_random_saturation(image: Any, lower: Any, upper: Any, seed: Any) -> Tensor:
    """As `random_saturation`, by `seed`, two ints (`tf.image.stateless_random_saturation`)."""
    return adjust_saturation(image, _factor("stateless_random_saturation", lower, upper, _by_seed(seed)))


def _flip(what: str, image: Any, axis: int, draw: Draw) -> Tensor:
    x = image_of(image, what)
    if x.ndim == 3:
        return where(less(draw([]), 0.5), reverse(x, [axis]), x)
    if x.ndim != 4:
        raise located(InvalidArgumentError(f"{what} takes an image, or a batch of them, not {x.type}"))
    flips = greater(draw([dim(x, 0)]), 0.5)
    return where(reshape(flips, [-1, 1, 1, 1]), reverse(x, [axis]), x)


def random_flip_left_right(image: Any, seed: Any = None) -> Tensor:
    """`flip_left_right` of half of the images [height, width, channels] or [batch, ...]
    (`tf.image.random_flip_left_right`)."""
    return _flip("random_flip_left_right", image, -2, _global(seed))


def stateless_random_flip_left_right(image: Any, seed: Any) -> Tensor:
    """As `random_flip_left_right`, by `seed`, two ints (`tf.image.stateless_random_flip_left_right`)."""
    return _flip("stateless_random_flip_left_right", image, -2, _by_seed(seed))


def random_flip_up_down(image: Any, seed: Any = None) -> Tensor:
    """`flip_up_down` of half of the images [height, width, channels] or [batch, ...] (`tf.image.random_flip_up_down`).
    """
    return _flip("random_flip_up_down", image, -3, _global(seed))


def stateless_random_flip_up_down(image: Any, seed: Any) -> Tensor:
    """As `random_flip_up_down`, by `seed`, two ints (`tf.image.stateless_random_flip_up_down`)."""
    return _flip("stateless_random_flip_up_down", image, -3, _by_seed(seed))


def _crop(what: str, value: Any, size: Any, draw: Draw) -> Tensor:
    x = convert_to_tensor(value)
    wanted = numbers(f"the size of {what}", size)
    have = dims(x, int32)
    error = InvalidArgumentError(f"{what} takes a size within the shape of the tensor, {x.shape}, not {size}")
    if len(wanted) != x.ndim or any(
            isinstance(n, int) and isinstance(most, int) and n > most for n, most in zip(wanted, have, strict=True)):
        raise located(error)
    if not all(isinstance(n, int) for n in (*wanted, *have)):
        raise_unless(reduce_all(less_equal(stack(wanted), stack(have))), error)
    offsets = draw([x.ndim], maxval=int32.max, dtype=int32) % (stack(have) - stack(wanted) + 1)
    return part_of(x, offsets, wanted)


def random_crop(value: Any, size: Any, seed: Any = None, name: str | None = None) -> Tensor:
    """A part of shape `size`, from a place drawn at random (`tf.image.random_crop`). InvalidArgumentError if it is
    larger than the tensor along an axis."""
    return named(_crop("random_crop", value, size, _global(seed)), name)


def stateless_random_crop(value: Any, size: Any, seed: Any, name: str | None = None) -> Tensor:
    """As `random_crop`, by `seed`, two ints (`tf.image.stateless_random_crop`)."""
    return named(_crop("stateless_random_crop", value, size, _by_seed(seed)), name)
