"""What to say of names that the public modules do not have. It loads them to look, and is loaded for such an error."""
from __future__ import annotations

from collections.abc import Collection
from typing import Final

from runtime import bitwise, debugging, image, io, linalg, math, nn, random, signal, sparse, strings
from runtime.core.tf1_names import INSTEAD

__all__ = ["why"]

_OTHERS: Final = frozenset((
    "SparseTensorSpec", "VariableSpec", "map_structure_up_to", "parse_sequence_example",
    "reduce_max"))
"""Names of TF that are missing, at least in some module, and are spelt like those of other functions."""
_FUNCTIONS: Final = (nn, math, linalg, strings, random, signal, sparse, bitwise, debugging, image, io)
_NAMES_OF_ANY: Final = frozenset(each.__name__ for each in (nn, math, linalg, bitwise, debugging))
"""Modules whose names mean the same in the others; those of `sparse.softmax` and `random.split` do not."""


def why(module: str, name: str, public: Collection[str]) -> str:
    """Why a module does not have a public name, such as another one that has it; "" if there is nothing to say.
    `public`: the names of `runtime` itself."""
    if module == "runtime":
        return INSTEAD.get(name) or _place_of(name, public)
    if module == "runtime.initializers":
        return "those of Keras are in rt.keras.initializers"
    return _place_of(name, public) if module in _NAMES_OF_ANY else _absent(name)


def _absent(name: str) -> str:
    """What to say of a name that must not be taken for another one; "" of other names."""
    return "TF has it, but this version does not" if name in _OTHERS else ""


def _place_of(name: str, public: Collection[str]) -> str:
    """Which public name has the function of this name, in words; "" if there is none, or TF has other functions under
    the name in several modules."""
    if name == "experimental":
        return "this version does not have it"
    if name in public:
        return f"it is rt.{name}"
    return next((f"it is rt.{module.__name__.partition('.')[2]}.{name}" for module in _FUNCTIONS
                 if name in module.__all__), _absent(name))
