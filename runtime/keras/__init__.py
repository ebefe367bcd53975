"""Keras 3 on this runtime: `tf.keras` of `import runtime as tf`, or `import runtime.keras` before `import keras`.

It needs the package keras (`pip install 'autograph[keras]'`). After the import `keras` itself runs on the backend
`runtime`, and this module has its public names. TensorFlow, JAX and PyTorch are not imported.
"""
from __future__ import annotations

import sys as _sys
from importlib import import_module as _import_module
from importlib import util as _util
from types import ModuleType as _ModuleType

from runtime.keras.released import install

_spec = _util.find_spec("keras")
if _spec is None or _spec.origin is None:  # a directory of this name on the path has no origin
    raise ModuleNotFoundError("keras is not installed: pip install 'autograph[keras]'", name="keras")
install()
import keras as _keras  # noqa: E402 - after it can be found

__version__ = _keras.__version__
globals().update({_name: getattr(_keras, _name) for _name in dir(_keras) if not _name.startswith("_")})


def _with_names_of_tf(name: str) -> _ModuleType:
    """A public module of Keras, with the names that Keras has in `tf.keras` only, such as `losses.mse`."""
    own, others = (_import_module(f"{package}.{name}") for package in ("keras", "keras._tf_keras.keras"))
    joined = _ModuleType(own.__name__, own.__doc__)
    vars(joined).update(vars(others))
    vars(joined).update(vars(own))
    for part, value in vars(own).items():
        if isinstance(value, _ModuleType) and value.__name__ == f"{own.__name__}.{part}":
            setattr(joined, part, _with_names_of_tf(f"{name}.{part}"))
    return joined


globals().update({_name: _with_names_of_tf(_name)
                  for _name in ("backend", "layers", "losses", "metrics", "preprocessing")})


def _let_import(name: str, module: _ModuleType) -> None:
    """Let `import runtime.keras.layers` and the like find the public modules of Keras."""
    _sys.modules[f"runtime.{name}"] = module
    for part, value in [*vars(module).items()]:
        if isinstance(value, _ModuleType) and value.__name__.removeprefix("keras._tf_keras.") == f"{name}.{part}":
            _let_import(f"{name}.{part}", value)


for _name, _value in [*globals().items()]:
    if isinstance(_value, _ModuleType) and _value.__name__ == f"keras.{_name}" and _name not in ("backend", "src"):
        _let_import(f"keras.{_name}", _value)  # `runtime.keras.backend` is what Keras runs on

from runtime.keras.backend.resuming import Resume as Resume  # noqa: E402 - needs keras
