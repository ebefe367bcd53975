"""Spectrograms on the mel scale, against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import runtime as rt


def mels(hertz: object) -> object:
    return 1127.0 * np.log1p(np.asarray(hertz) / 700.0)


@pytest.mark.parametrize("dtype", [rt.float32, rt.float64])
def test_weights_are_triangles(dtype: rt.DType) -> None:
    edges = np.linspace(mels(80.0), mels(3600.0), 8)
    bins = mels(np.linspace(0, 4000, 33))[:, None]
    rising, falling = (bins - edges[:-2]) / np.diff(edges)[:-1], (edges[2:] - bins) / np.diff(edges)[1:]
    wanted = np.maximum(0, np.minimum(rising, falling))
    found = rt.signal.linear_to_mel_weight_matrix(6, 33, 8000, 80.0, 3600.0, dtype)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, atol=1e-5 if dtype == rt.float32 else 1e-12)
    traced = rt.function(lambda n: rt.signal.linear_to_mel_weight_matrix(6, n, 8000, 80.0, 3600.0, dtype))
    np.testing.assert_allclose(traced(rt.constant(33)), found, atol=1e-6)


def test_arguments_out_of_order() -> None:
    for options, text in ({"lower_edge_hertz": 200.0, "upper_edge_hertz": 100.0}, "in order"), (
            {"upper_edge_hertz": 4500.0}, "half of the sample_rate"), ({"num_mel_bins": 0}, "must be positive"):
        with pytest.raises(ValueError, match=text):
            rt.signal.linear_to_mel_weight_matrix(**options)


def test_cepstral_coefficients() -> None:
    x = np.random.default_rng(0).normal(size=(3, 5))
    place = np.arange(5)
    waves = np.cos(np.pi / 5 * (place[:, None] + 0.5) * place)
    np.testing.assert_allclose(rt.signal.mfccs_from_log_mel_spectrograms(x), 2 * x @ waves / np.sqrt(10), atol=1e-12)
