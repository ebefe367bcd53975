"""What errors for missing names of public modules say: `runtime.missing_names` looks into all of these."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from autograph.backend import Late, hint_at_names

__all__ = ["PUBLIC_NAMES", "hint_at_public_names"]


class PublicNames(Late):
    """Forward declaration of what is said of names."""

    why: Callable[[str, str], str]
    """Why a module does not have a name, such as another module that has it; "" if there is nothing to say."""


PUBLIC_NAMES: Final = PublicNames()


def hint_at_public_names(module: str) -> None:
    """Let the errors for names that a public module does not have say why, or name the nearest of `__all__`."""
    hint_at_names(sys.modules[module], why=lambda name: PUBLIC_NAMES.why(module, name))
