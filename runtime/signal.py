"""Signal processing (`tf.signal`)."""
from __future__ import annotations

from runtime.ops.fourier import fft, fft2d, ifft, ifft2d, irfft, rfft

__all__ = ["fft", "fft2d", "ifft", "ifft2d", "irfft", "rfft"]
