"""Differentiation as a transformation of graphs (`tf.autodiff`)."""
from __future__ import annotations

from runtime.autodiff import host_calls  # noqa: F401  it fills the tables
from runtime.autodiff.accumulator import ForwardAccumulator

__all__ = ["ForwardAccumulator"]
