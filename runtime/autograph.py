"""The transpiler under TF2's names (`tf.autograph`)."""
from __future__ import annotations

from enum import Enum
from typing import Any

import autograph
from autograph import convert, do_not_convert, explain, set_loop_options, to_graph
from runtime.core.public_names import Namespace, hint_at_public_names

__all__ = ["Feature", "convert", "do_not_convert", "experimental", "explain", "set_loop_options",
           "set_verbosity", "to_code", "to_graph"]

class Feature(Enum):
    """Features of TF2's AutoGraph (`tf.autograph.experimental.Feature`), all of which are supported."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """All features."""
        return tuple(cls)

    @classmethod
    def all_but(cls, exclude: Any) -> tuple[Feature, ...]:
        """All features but one, or several."""
        out = exclude if isinstance(exclude, (list, tuple, set)) else (exclude,)
        return tuple(feature for feature in cls if feature not in out and feature is not cls.ALL)


class experimental(metaclass=Namespace):
    """What calls tell the converter (`tf.autograph.experimental`)."""

    Feature = Feature
    do_not_convert = staticmethod(do_not_convert)
    set_loop_options = staticmethod(set_loop_options)


def to_code(
    entity: Any, recursive: bool = True, experimental_optional_features: Any = None, *, stage: str | None = None,
    internal: bool = False,
) -> str:
    """The converted source of a function: see `autograph.to_code`. The printer is loaded when this is called."""
    return autograph.to_code(entity, recursive, experimental_optional_features, stage=stage, internal=internal)


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Does nothing: conversion logs nothing (`tf.autograph.set_verbosity`). `explain` says what it has decided, and
    `to_code` shows its result."""


hint_at_public_names(__name__)
