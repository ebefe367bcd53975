"""Keras's `backend.nn`: activations, convolutions, pooling, losses, normalisation and attention."""
from __future__ import annotations

from runtime.keras.backend.nn.activations import *  # noqa: F403
from runtime.keras.backend.nn.attention import *  # noqa: F403
from runtime.keras.backend.nn.convolutions import *  # noqa: F403
from runtime.keras.backend.nn.ctc import *  # noqa: F403
from runtime.keras.backend.nn.losses import *  # noqa: F403
from runtime.keras.backend.nn.normalization import *  # noqa: F403
from runtime.keras.backend.nn.patches import *  # noqa: F403
from runtime.keras.backend.nn.pooling import *  # noqa: F403
