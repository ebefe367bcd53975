"""Differentiation as a transformation of graphs (`tf.autodiff`)."""
from __future__ import annotations

from runtime.autodiff import host_calls  # noqa: F401  it fills the tables
from runtime.autodiff.accumulator import ForwardAccumulator
from runtime.core.public_names import hint_at_public_names

__all__ = ["ForwardAccumulator"]

hint_at_public_names(__name__)
