"""Frames, windows, short-time Fourier transforms and cosine transforms, eagerly and in both executors."""
from __future__ import annotations

import numpy as np
import pytest
from traced_once import on, on_both

import runtime as rt

RNG = np.random.default_rng(5)
SIGNAL = RNG.standard_normal((2, 11)).astype(np.float32)


def both(fn, *args, spec=None):
    """The result, which is the same eagerly, in both executors, and where sizes are not known."""
    expected = np.asarray(fn(*args))
    unknown = rt.function(fn, input_signature=[
        rt.TensorSpec([None] * np.ndim(x), rt.as_dtype(np.asarray(x).dtype)) for x in args])
    for traced in (*on_both(fn).values(), unknown):
        found = np.asarray(traced(*map(rt.constant, args)))
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    return expected


def cosine_transform(x, kind):
    """By its definition, without a norm."""
    n = x.shape[-1]
    i, k = np.arange(n), np.arange(n)[:, None]
    matrix = {1: np.cos(np.pi * k * i / max(n - 1, 1)) * np.where((i == 0) | (i == n - 1), 1, 2),
              2: 2 * np.cos(np.pi * k * (2 * i + 1) / (2 * n)),
              3: np.cos(np.pi * (2 * k + 1) * i / (2 * n)) * np.where(i == 0, 1, 2),
              4: 2 * np.cos(np.pi * (2 * k + 1) * (2 * i + 1) / (4 * n))}[kind]
    return x @ matrix.T


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_cosine_transforms(kind):
    for x in SIGNAL, SIGNAL[:, :4].astype(np.float64):
        n = x.shape[-1]
        found = both(lambda v: rt.signal.dct(v, kind), x)
        np.testing.assert_allclose(found, cosine_transform(x, kind), rtol=1e-4, atol=1e-4)
        back = both(lambda v: rt.signal.idct(v, kind), found) / (2 * (n - (kind == 1)))
        np.testing.assert_allclose(back, x, rtol=1e-4, atol=1e-5)
        if kind > 1:
            found = both(lambda v: rt.signal.dct(v, kind, norm="ortho"), x)
            np.testing.assert_allclose((found ** 2).sum(), (x ** 2).sum(), rtol=1e-4)
            np.testing.assert_allclose(both(lambda v: rt.signal.idct(v, kind, norm="ortho"), found), x, atol=1e-5)
    for n in 5, 20:
        padded = np.pad(SIGNAL, [(0, 0), (0, max(n - 11, 0))])[:, :n]
        np.testing.assert_allclose(rt.signal.dct(SIGNAL, kind, n), cosine_transform(padded, kind), rtol=1e-4, atol=1e-4)


def test_what_cosine_transforms_refuse():
    for error, text, options in ((ValueError, "types 1, 2, 3 and 4", {"type": 5}), (ValueError, "norm", {"norm": "x"}),
                                 (NotImplementedError, "axis", {"axis": 0}), (ValueError, "n of dct", {"n": 0}),
                                 (ValueError, "no norm", {"type": 1, "norm": "ortho"})):
        with pytest.raises(error, match=text):
            rt.signal.dct(SIGNAL, **options)
    with pytest.raises(ValueError, match="n of idct must be None"):
        rt.signal.idct(SIGNAL, n=3)
    with pytest.raises(TypeError, match="int32"):
        rt.signal.dct([1, 2])


def test_frames():
    for length, step, count in (4, 3, 3), (11, 1, 1), (12, 1, 0), (2, 5, 2):
        found = both(lambda x, length=length, step=step: rt.signal.frame(x, length, step), SIGNAL)
        assert found.shape == (2, count, length)
        for k in range(count):
            np.testing.assert_array_equal(found[:, k], SIGNAL[:, k * step:k * step + length])
    padded = both(lambda x: rt.signal.frame(x, 4, 3, True, 7), SIGNAL)
    assert padded.shape == (2, 4, 4)
    np.testing.assert_array_equal(padded[:, 3], [[*row[9:], 7, 7] for row in SIGNAL])
    assert both(lambda x: rt.signal.frame(x, 2, 1, axis=0), SIGNAL).shape == (1, 2, 11)
    with pytest.raises(rt.errors.ShapeError, match="the frame_step must be at least 1, not 0"):
        rt.signal.frame(SIGNAL, 4, 0)


def test_frames_that_overlap_are_added():
    frames = RNG.standard_normal((2, 3, 4)).astype(np.float32)
    for step in 1, 3, 6:
        want = np.zeros((2, 2 * step + 4), np.float32)
        for k in range(3):
            want[:, k * step:k * step + 4] += frames[:, k]
        found = both(lambda x, step=step: rt.signal.overlap_and_add(x, step), frames)
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-6)
    with pytest.raises(rt.errors.ShapeError, match="takes frames"):
        rt.signal.overlap_and_add([1.0], 1)


def test_windows():
    for n in 1, 2, 7, 8:
        even = n % 2 == 0
        np.testing.assert_allclose(rt.signal.hann_window(n, dtype=rt.float64), np.hanning(n + even)[:n], atol=1e-12)
        np.testing.assert_allclose(rt.signal.hann_window(n, False), np.hanning(n), atol=1e-6)
        np.testing.assert_allclose(rt.signal.hamming_window(n), np.hamming(n + even)[:n], atol=1e-6)
        traced = rt.function(lambda m: rt.signal.hann_window(m))(rt.constant(n))
        np.testing.assert_allclose(traced, rt.signal.hann_window(n), atol=1e-6)
    np.testing.assert_allclose(rt.signal.vorbis_window(2), [np.sin(np.pi / 4)] * 2, rtol=1e-6)
    with pytest.raises(TypeError, match="int32"):
        rt.signal.hann_window(4, dtype=rt.int32)


def test_a_short_time_transform_and_back():
    x = RNG.standard_normal(64).astype(np.float32)
    found = both(lambda v: rt.signal.stft(v, 16, 4), x)
    assert found.shape == (13, 9) and found.dtype == np.complex64
    window = np.hanning(17)[:16]
    for k in range(13):
        np.testing.assert_allclose(found[k], np.fft.rfft(x[4 * k:4 * k + 16] * window), rtol=1e-3, atol=1e-4)
    back = both(lambda v: rt.signal.inverse_stft(v, 16, 4, window_fn=rt.signal.inverse_stft_window_fn(4)), found)
    np.testing.assert_allclose(back[16:-16], x[16:-16], atol=1e-5)
    assert rt.signal.stft(x, 12, 6).shape == (9, 9) and rt.signal.stft(x, 12, 6, 32, None, True).shape == (11, 17)
    assert rt.signal.inverse_stft(rt.signal.stft(x, 12, 6), 12, 6).shape == (60,)
    by_length = rt.function(lambda v, n: rt.signal.stft(v, n, 4))(rt.constant(x), rt.constant(16))
    np.testing.assert_allclose(by_length, found, rtol=1e-3, atol=1e-4)
    with pytest.raises(TypeError, match="takes complex numbers, not float32"):
        rt.signal.inverse_stft(x[None], 16, 4)


def test_lanes():
    signals = RNG.standard_normal((3, 16)).astype(np.float32)
    for transform in (lambda x: rt.abs(rt.signal.stft(x, 4, 2)), rt.signal.dct, lambda x: rt.signal.frame(x, 5, 3)):
        np.testing.assert_allclose(rt.vmap(transform)(rt.constant(signals)), transform(signals), rtol=1e-4, atol=1e-5)


def test_derivatives():
    def energy(x):
        power = rt.abs(rt.signal.stft(x, 8, 4)) ** 2.0
        return rt.reduce_sum(power) + rt.reduce_sum(rt.signal.dct(x) ** 3.0) + rt.reduce_sum(
            rt.signal.overlap_and_add(rt.signal.frame(x, 4, 2), 3) ** 2.0)

    x = rt.constant(RNG.standard_normal(16))
    gradient = rt.grad(energy)(x).numpy()
    for i in 0, 3, 15:
        step = np.zeros(16)
        step[i] = 1e-5
        np.testing.assert_allclose(gradient[i], (energy(x + step) - energy(x - step)) / 2e-5, rtol=1e-5)


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("size", [1, 2, 7, 16])
@pytest.mark.parametrize("beta", [0.0, 5.0, 12.0])
def test_kaiser_windows(beta, size, executor):
    expected = np.kaiser(size, beta)
    np.testing.assert_allclose(rt.signal.kaiser_window(size, beta), expected, rtol=1e-4, atol=1e-6)
    traced = rt.function(lambda n: rt.signal.kaiser_window(n, beta, rt.float64), executor=executor)
    np.testing.assert_allclose(traced(rt.constant(size)), expected, rtol=1e-6, atol=1e-8)
    if size % 2 == 0:
        half = np.kaiser(size // 2 + 1, beta).cumsum()
        rising = np.sqrt(half[:-1] / half[-1])
        found = rt.signal.kaiser_bessel_derived_window(size, beta)
        np.testing.assert_allclose(found, [*rising, *rising[::-1]], rtol=1e-4)


@pytest.mark.parametrize("executor", ["eager", "native", "numpy"])
@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize("window", [rt.signal.vorbis_window, rt.signal.kaiser_bessel_derived_window, None])
def test_modified_cosine_transforms(window, norm, executor):
    x, size = np.random.default_rng(0).normal(size=(2, 72)), 16

    def run(x):
        found = rt.signal.mdct(x, size, window, norm=norm)
        return found, rt.signal.inverse_mdct(found, window, norm)

    found, back = (run if executor == "eager" else on(executor, run))(rt.constant(x))
    n, k = np.arange(size), np.arange(size // 2)
    own = np.full(size, 0.5 ** 0.5) if window is None else window(size, dtype=rt.float64).numpy()
    frames = np.stack([x[:, i:i + size] for i in range(0, 72 - size + 1, size // 2)], 1) * own
    basis = 2 * np.cos(np.pi / (size // 2) * (n[:, None] + 0.5 + size / 4) * (k + 0.5))
    scale = 1 if norm is None else 0.5 * (2 / (size // 2)) ** 0.5
    np.testing.assert_allclose(found, frames @ basis * scale, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(back[:, size // 2:-size // 2], x[:, size // 2:-size // 2], rtol=1e-5, atol=1e-6)


def test_modified_cosine_transforms_refuse():
    with pytest.raises(ValueError, match="must be a multiple of 4"):
        rt.signal.mdct(np.zeros(20), 6)
    with pytest.raises(rt.errors.ShapeError, match=r"transforms \[..., frames, n\]"):
        rt.signal.inverse_mdct(np.zeros(4))
