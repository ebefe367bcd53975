"""Bitwise operations on integers (`tf.bitwise`)."""
from __future__ import annotations

from runtime.core.public_names import hint_at_public_names
from runtime.ops.logic import bitwise_and, bitwise_or, bitwise_xor, invert, left_shift, right_shift

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]

hint_at_public_names(__name__)
