"""Images (`tf.image`): tensors [..., height, width, channels]."""
from __future__ import annotations

from runtime.core.public_names import hint_at_public_names
from runtime.ops import boxes, image, image_files, image_random, image_resize, image_windows
from runtime.ops.boxes import *  # noqa: F403
from runtime.ops.image import *  # noqa: F403
from runtime.ops.image_files import *  # noqa: F403
from runtime.ops.image_random import *  # noqa: F403
from runtime.ops.image_resize import *  # noqa: F403
from runtime.ops.image_windows import *  # noqa: F403

__all__ = []
__all__ += [*boxes.__all__, *image.__all__, *image_files.__all__, *image_random.__all__, *image_resize.__all__,
            *image_windows.__all__]

hint_at_public_names(__name__)
