"""Spectrograms on the mel scale, whose equal steps are heard as equal."""
from __future__ import annotations

from typing import Any

from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import as_dtype, float32
from runtime.ops.concat_split import pad
from runtime.ops.creation import linspace
from runtime.ops.math import cast, log, maximum, minimum, rsqrt
from runtime.ops.op_makers import FLOATS, check_dtype, named
from runtime.ops.shape import dim, expand_dims
from runtime.ops.signal import dct

__all__ = ["linear_to_mel_weight_matrix", "mfccs_from_log_mel_spectrograms"]


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20, num_spectrogram_bins: Any = 129, sample_rate: Any = 8000, lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0, dtype: Any = float32, name: str | None = None,
) -> Tensor:
    """The matrix [num_spectrogram_bins, num_mel_bins] by which a spectrogram is multiplied for one on the mel scale:
    triangles between the edges (`tf.signal.linear_to_mel_weight_matrix`). ValueError for edges out of order."""
    kind = as_dtype(dtype)
    check_dtype("linear_to_mel_weight_matrix", kind, FLOATS)
    if num_mel_bins < 1:
        raise located(ValueError(f"num_mel_bins must be positive, not {num_mel_bins}"))
    if lower_edge_hertz < 0 or lower_edge_hertz >= upper_edge_hertz:
        raise located(ValueError(f"the edges have to be at least 0 and in order, not {lower_edge_hertz} and "
                                 f"{upper_edge_hertz}"))
    if isinstance(sample_rate, (int, float)) and not 0 < 2 * upper_edge_hertz <= sample_rate:
        raise located(ValueError(f"upper_edge_hertz is at most half of the sample_rate {sample_rate}, not "
                                 f"{upper_edge_hertz}"))
    low, high, half = (cast(x, kind) for x in (lower_edge_hertz, upper_edge_hertz, cast(sample_rate, kind) / 2))
    bins = expand_dims(_mels(linspace(cast(0.0, kind), half, num_spectrogram_bins)[1:]), 1)
    edges = linspace(_mels(low), _mels(high), num_mel_bins + 2)
    rising = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    return pad(maximum(minimum(rising, falling), 0), [[1, 0], [0, 0]], name=name)  # the first bin is the constant part


def _mels(hertz: Any) -> Any:
    return 1127.0 * log(hertz / 700.0 + 1.0)


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """The cepstral coefficients of logarithms of mel spectrograms [..., bins], with HTK's scale
    (`tf.signal.mfccs_from_log_mel_spectrograms`)."""
    x = convert_to_tensor(log_mel_spectrograms, dtype_hint=float32)
    return named(dct(x) * rsqrt(cast(dim(x, x.ndim - 1), x.dtype) * 2.0), name)
