"""Images (`tf.image`): tensors [..., height, width, channels]."""
from __future__ import annotations

from runtime.ops import image, image_random, image_resize
from runtime.ops.image import *  # noqa: F403
from runtime.ops.image_random import *  # noqa: F403
from runtime.ops.image_resize import *  # noqa: F403

__all__ = []
__all__ += [*image.__all__, *image_random.__all__, *image_resize.__all__]
