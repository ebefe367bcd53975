"""What errors for missing names of public modules say: `runtime.missing_names` looks into all of these."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from autograph.backend import Late, hint_at_names, unknown

__all__ = ["PUBLIC_NAMES", "Namespace", "hint_at_public_names"]


class PublicNames(Late):
    """Forward declaration of what is said of names."""

    why: Callable[[str, str], str]
    """Why a module does not have a name, such as another module that has it; "" if there is nothing to say."""


PUBLIC_NAMES: Final = PublicNames()


def hint_at_public_names(module: str) -> None:
    """Let the errors for names that a public module does not have say why, or name the nearest of `__all__`."""
    hint_at_names(sys.modules[module], why=lambda name: PUBLIC_NAMES.why(module, name))


class Namespace(type):
    """The class of namespaces in public modules, such as `rt.random.experimental`: their errors for names that they do
    not have are those of modules."""

    def __getattr__(cls, name: str) -> Any:
        names = [each for each in dir(cls) if not each.startswith("_")]
        raise unknown(f"{cls.__module__}.{cls.__name__}", name, names)
