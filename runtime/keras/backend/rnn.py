"""Recurrent layers' loops (Keras' `backend.rnn`)."""
from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["bidirectional_gru", "bidirectional_lstm", "cudnn_ok", "gru", "lstm", "rnn"]


def cudnn_ok(*args: Any, **kwargs: Any) -> bool:
    """Whether a layer can use cuDNN: there is none."""
    return False


def _generic(*args: Any, **kwargs: Any) -> NoReturn:
    """Keras then runs the layer by its cell."""
    raise NotImplementedError


rnn = lstm = gru = bidirectional_lstm = bidirectional_gru = _generic
