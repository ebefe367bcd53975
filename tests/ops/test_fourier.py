"""Fourier transforms and `bitcast`, against NumPy."""
import numpy as np
import pytest

import runtime as rt

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("size", [1, 2, 5, 8])
@pytest.mark.parametrize("length", [None, 4, 7, 9])
def test_real_transforms_are_numpys(size, length):
    x = RNG.standard_normal((3, size)).astype(np.float32)
    found = rt.signal.rfft(x, length)
    np.testing.assert_allclose(found, np.fft.rfft(x, length), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(rt.signal.irfft(found, length or size), np.fft.irfft(found, length or size), atol=1e-5)


def test_two_axes_and_back():
    x = (RNG.standard_normal((2, 3, 4)) + 1j * RNG.standard_normal((2, 3, 4))).astype(np.complex64)
    found = rt.signal.fft2d(x)
    np.testing.assert_allclose(found, np.fft.fft2(x), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(rt.signal.ifft2d(found), x, rtol=1e-4, atol=1e-5)


def test_in_a_graph_of_unknown_sizes_with_a_derivative():
    @rt.function(input_signature=[rt.TensorSpec([None, None])])
    def energy(x):
        with rt.GradientTape() as tape:
            tape.watch(x)
            total = rt.reduce_sum(rt.square(rt.abs(rt.signal.rfft(x))))
        return total, tape.gradient(total, x)

    x = RNG.standard_normal((2, 6)).astype(np.float32)
    total, gradient = energy(x)
    np.testing.assert_allclose(total, (np.abs(np.fft.rfft(x)) ** 2).sum(), rtol=1e-4)
    step = np.zeros_like(x)
    step[1, 2] = 1e-2
    difference = (energy(x + step)[0] - energy(x - step)[0]) / 2e-2
    np.testing.assert_allclose(gradient[1, 2], difference, rtol=1e-2)


def test_bits():
    assert rt.bitcast(1.0, rt.int32) == 0x3F800000
    assert rt.bitcast(rt.constant([1, 2], rt.int32), rt.uint8).shape == (2, 4)
    assert rt.bitcast(rt.constant([[0, 0, 128, 63]], rt.uint8), rt.float32).numpy().tolist() == [1.0]
    with pytest.raises(ValueError, match="takes a last axis of 4"):
        rt.bitcast(rt.constant([1, 2], rt.uint8), rt.float32)
    with pytest.raises(TypeError, match="not bools"):
        rt.bitcast(True, rt.int8)


def test_of_ints():
    assert rt.math.gcd([12, 18], 8).numpy().tolist() == [4, 2]
    assert rt.math.lcm(4, 6) == 12
    assert rt.math.nextafter(1.0, 2.0) == np.nextafter(np.float32(1), np.float32(2))


def test_a_truncated_normal_depends_on_its_seed_alone():
    draw = rt.function(lambda seed: rt.random.stateless_truncated_normal([1000], seed, 3.0, 2.0))
    x = draw(rt.constant([1, 2]))
    assert (x == draw(rt.constant([1, 2]))).numpy().all() and (x != draw(rt.constant([1, 3]))).numpy().any()
    assert (rt.abs(x - 3.0) <= 4.0).numpy().all() and abs(float(rt.reduce_mean(x)) - 3) < 0.3


@pytest.mark.parametrize("lengths", [None, [4, 6], [2, 5]])
def test_transforms_of_real_numbers_along_several_axes(lengths):
    x = RNG.standard_normal((2, 3, 4)).astype(np.float32)
    found = rt.signal.rfft2d(x, lengths)
    np.testing.assert_allclose(found, np.fft.rfft2(x, lengths), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(rt.signal.irfft2d(found, lengths), np.fft.irfft2(found, lengths), atol=1e-5)
    cube = None if lengths is None else [3, *lengths]
    found = rt.function(lambda v: rt.signal.rfft3d(v, cube))(x)
    np.testing.assert_allclose(found, np.fft.rfftn(x, cube, (0, 1, 2)), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(rt.signal.irfft3d(found, cube), np.fft.irfftn(found.numpy(), cube, (0, 1, 2)), atol=1e-5)
    with pytest.raises(rt.errors.ShapeError, match="an fft_length of 2 ints, not of 1"):
        rt.signal.rfft2d(x, [4])
    with pytest.raises(rt.errors.ShapeError, match="fft3d takes a tensor of rank 3 or more"):
        rt.signal.fft3d(x[0])


def test_three_axes_and_shifts():
    x = (RNG.standard_normal((2, 2, 3, 4)) + 1j * RNG.standard_normal((2, 2, 3, 4))).astype(np.complex64)
    found = rt.signal.fft3d(x)
    np.testing.assert_allclose(found, np.fft.fftn(x, axes=(1, 2, 3)), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(rt.signal.ifft3d(found), x, rtol=1e-4, atol=1e-5)
    shift = rt.function(rt.signal.fftshift, input_signature=[rt.TensorSpec([None] * 4, rt.complex64)])
    np.testing.assert_array_equal(shift(x), np.fft.fftshift(x))
    for axes in None, 3, [1, -2]:
        np.testing.assert_array_equal(rt.signal.fftshift(x, axes), np.fft.fftshift(x, axes))
        np.testing.assert_array_equal(rt.signal.ifftshift(x, axes), np.fft.ifftshift(x, axes))
