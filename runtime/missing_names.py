"""What to say of names that the public modules do not have. It loads them to look, and is loaded for such an error."""
from __future__ import annotations

from typing import Final

import runtime.bitwise
import runtime.debugging
import runtime.image
import runtime.io
import runtime.linalg
import runtime.math
import runtime.nn
import runtime.random
import runtime.signal
import runtime.sparse
import runtime.strings
from runtime.core.public_names import PUBLIC_NAMES
from runtime.core.tf1_names import INSTEAD

_OTHERS: Final = frozenset((
    "SparseTensorSpec", "VariableSpec", "map_structure_up_to", "parse_sequence_example"))
"""Names of TF that are missing, at least in some module, and are spelt like those of other functions."""
_SHARING: Final = (runtime.nn, runtime.math, runtime.linalg, runtime.bitwise, runtime.debugging)
"""Modules in which a function may be looked for that is in another one."""
_OF_ONE_KIND: Final = (
    runtime.strings, runtime.random, runtime.signal, runtime.sparse, runtime.image, runtime.io)
"""Modules in which a name means something else than in the others: `sparse.softmax`, `random.split`."""


def _why(module: str, name: str) -> str:
    """Why a module does not have a public name, such as another one that has it; "" if there is nothing to say."""
    if module == "runtime":
        return INSTEAD.get(name) or _place_of(name)
    if module == "runtime.initializers":
        return "those of Keras are in rt.keras.initializers"
    return _place_of(name) if module in [each.__name__ for each in _SHARING] else _absent(name)


def _absent(name: str) -> str:
    """What to say of a name that must not be taken for another one; "" of other names."""
    return "TF has it, but this version does not" if name in _OTHERS else ""


def _place_of(name: str) -> str:
    """Which public name has the function of this name, in words; "" if there is none, or TF has other functions under
    the name in several modules."""
    if name == "experimental":
        return "this version does not have it"
    if name in runtime.__all__:
        return f"it is rt.{name}"
    return next((f"it is rt.{module.__name__.partition('.')[2]}.{name}" for module in (*_SHARING, *_OF_ONE_KIND)
                 if name in module.__all__), _absent(name))


PUBLIC_NAMES.define(why=_why)
