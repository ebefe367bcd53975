"""Keras's `backend.image`: colours, resizing, sampling at coordinates, and filters."""
from __future__ import annotations

from runtime.keras.backend.image.colors import *  # noqa: F403
from runtime.keras.backend.image.filters import *  # noqa: F403
from runtime.keras.backend.image.resizing import *  # noqa: F403
from runtime.keras.backend.image.sampling import *  # noqa: F403
