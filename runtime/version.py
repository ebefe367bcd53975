"""The version (`tf.version`)."""
from __future__ import annotations

from typing import Final

__all__ = ["VERSION"]

VERSION: Final = "0.1.0"
"""The version of this runtime, not one of TensorFlow."""
