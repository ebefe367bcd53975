"""Bitwise operations on integers (`tf.bitwise`)."""
from __future__ import annotations

from runtime.ops.logic import bitwise_and, bitwise_or, bitwise_xor, invert, left_shift, right_shift

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]
