"""Images (`tf.image`): tensors [..., height, width, channels]."""
from __future__ import annotations

from runtime.ops.image import *  # noqa: F403
from runtime.ops.image import __all__ as __all__
