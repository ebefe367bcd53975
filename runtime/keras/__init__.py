"""Keras 3 on this runtime: `tf.keras` of `import runtime as tf`, or `import runtime.keras` before `import keras`.

It needs the package keras (`pip install 'autograph[keras]'`). After the import `keras` itself runs on the backend
`runtime`, and this module has its public names. TensorFlow, JAX and PyTorch are not imported.
"""
from __future__ import annotations

from runtime.keras.released import install

install()
try:
    import keras as _keras
except ModuleNotFoundError as _error:
    if _error.name != "keras":
        raise
    raise ModuleNotFoundError(
        "keras is not installed: pip install 'autograph[keras]'", name="keras") from None

__version__ = _keras.__version__
globals().update({_name: getattr(_keras, _name) for _name in dir(_keras) if not _name.startswith("_")})
