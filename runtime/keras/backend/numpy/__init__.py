"""Keras's `backend.numpy`: NumPy's functions with Keras's promotion of dtypes, composed of ops of runtime."""
from __future__ import annotations

from runtime.keras.backend.numpy.arithmetic import *  # noqa: F403
from runtime.keras.backend.numpy.creation import *  # noqa: F403
from runtime.keras.backend.numpy.elementwise import *  # noqa: F403
from runtime.keras.backend.numpy.products import *  # noqa: F403
from runtime.keras.backend.numpy.reductions import *  # noqa: F403
from runtime.keras.backend.numpy.selection import *  # noqa: F403
from runtime.keras.backend.numpy.shaping import *  # noqa: F403
from runtime.keras.backend.sparse import with_sparse

globals().update(with_sparse(globals()))
