"""Rules for selection; comparisons and bitwise ops are constants for differentiation."""
from __future__ import annotations

from runtime.autodiff.rules.elementwise import elementwise
from runtime.autodiff.rules.registry import constant
from runtime.ops.logic import where

elementwise("where", None, lambda t, c, x, y, out: where(c, t, 0), lambda t, c, x, y, out: where(c, 0, t))

constant("its result is of bools", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
         "add_fits", "subtract_fits", "multiply_fits", "equal_text")
constant("its result is of ints or bools", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift",
         "right_shift", "nonzero", "gcd", "lcm", "bitcast")
constant("its result is an index", "rank_texts")
