"""The tables with which NumPy draws normal numbers, bit for bit (G. Marsaglia, W. W. Tsang, 2000).

256 layers of equal area cover half of exp(-x²/2). Layer i reaches to x[i]; the last begins the tail. NumPy's tables
were computed in float64 from the tail on, with an exp that was wrong by one unit in one entry; here exp and log are
correctly rounded, independent of the C library.
"""
from __future__ import annotations

import functools
import math
from decimal import Decimal, localcontext
from typing import Final, NamedTuple

__all__ = ["INVERSE_TAIL", "TAIL", "Tables", "tables"]

TAIL: Final = 3.6541528853610088  # where the tail begins
INVERSE_TAIL: Final = 0.27366123732975828
_AREA: Final = 0.004928673233974652
_LAYERS: Final = 256
_OFF: Final = 38  # the layer whose height in NumPy is one unit in the last place too large


class Tables(NamedTuple):
    """For each layer: the bound below which an integer's point is certainly below the curve, the width per integer, and
    the height."""

    below: list[int]
    widths: list[float]
    heights: list[float]


@functools.cache
def tables(bits: int) -> Tables:
    """The tables for integers of 52 bits (float64) or 23 bits (float32, to which the caller rounds widths and
    heights)."""
    scale = 2.0 ** bits
    edges, heights = _layers()
    below = [round(TAIL * heights[-1] / _AREA * scale), 0]
    below += [round(edges[i - 1] / edges[i] * scale) for i in range(2, _LAYERS)]
    return Tables(below, [_AREA / heights[-1] / scale, *[x / scale for x in edges[1:]]], heights)


def _layers() -> tuple[list[float], list[float]]:
    edges, heights = [0.0] * _LAYERS, [1.0] * _LAYERS
    with localcontext() as context:
        context.prec = 40
        for i in range(_LAYERS - 1, 0, -1):
            if i == _LAYERS - 1:
                x = TAIL
            else:
                x = math.sqrt(-2.0 * float(Decimal(_AREA / edges[i + 1] + heights[i + 1]).ln()))
            height = float(Decimal(-0.5 * x * x).exp())
            edges[i], heights[i] = x, math.nextafter(height, 1.0) if i == _OFF else height
    return edges, heights
