"""Special functions: TensorFlow's values, what they are at the ends, and relations that hold between them."""
from __future__ import annotations

import math

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on

special = rt.math.special
POINTS = np.array([0.001, 0.3, 1.7, 5.5, 12, 45])
VALUES = {  # TensorFlow 2.21, float64
    "bessel_i0": [1.00000025000002, 1.0226268793516, 1.86396496207384, 42.6946451518478, 18948.9253492963,
        2.08341407517731e+18],
    "bessel_i0e": [0.999000749583515, 0.757580625182548, 0.340515687982471, 0.17448325638193, 0.11642622121344,
        0.0596381150117319],
    "bessel_i1": [0.000500000062500003, 0.151693840003593, 1.19634656563448, 38.5881646163274, 18141.3487816388,
        2.06013346208158e+18],
    "bessel_i1e": [0.000499500312354221, 0.112377560639839, 0.218552806598493, 0.157701009016756, 0.111464299290181,
        0.0589717031362006],
    "bessel_j0": [0.999999750000016, 0.977626246538296, 0.397984859446109, -0.00684386941781919, 0.0476893107968334,
        0.115818670673256],
    "bessel_j1": [0.000499999937500003, 0.148318816273104, 0.577765231529023, -0.341438215429043,
        -0.223447104490628, 0.0283488543764246],
    "bessel_k0": [7.02368880056238, 1.3724600605443, 0.165496318056997, 0.00213870856595029, 2.20082539731149e-06,
        5.33345612261872e-21],
    "bessel_k0e": [7.03071600237825, 1.85262730077201, 0.905918138568551, 0.523324731552416, 0.358194878489078,
        0.186320401860766],
    "bessel_k1": [999.996238156085, 3.05599203345733, 0.209362488204083, 0.002325569008849, 2.29075746476719e-06,
        5.39239459372251e-21],
    "bessel_k1e": [1000.99673455907, 4.12515776224447, 1.14603924623025, 0.569047974389051, 0.37283175336971,
        0.188379374386019],
    "bessel_y0": [-4.47141661137592, -0.80727357780452, 0.452027000181635, -0.339480592881911, -0.225237312634362,
        0.0270604697633136],
    "bessel_y1": [-636.62216723114, -2.29310513838853, -0.284726245064068, -0.0237582389563896, -0.0570992182608967,
        -0.115525179646399],
    "dawsn": [0.0009999993333336, 0.282631665021312, 0.372559348974079, 0.0924932323107548, 0.0418128764539883,
        0.0111138566300599],
    "expint": [-6.32953936402504, -0.302668539265826, 3.9209632013549, 58.465514249824, 14959.5326663975,
        7.94391603570445e+17],
    "fresnel_cos": [0.000999999999999753, 0.299400976052047, 0.3238268760039, 0.478421414925314, 0.499941369352011,
        0.507073552501972],
    "fresnel_sin": [5.23598775598207e-10, 0.0141169980065766, 0.549195940321569, 0.553684062779022,
        0.473474564919935, 0.499998888108134],
    "spence": [1.63702260527612, 0.889377624286039, -0.605158402337706, -2.56509622207655, -4.43096251703983,
        -8.78238023114995],
}


@pytest.mark.parametrize("executor", ["eager", "native", "numpy"])
@pytest.mark.parametrize("name", VALUES)
def test_values_are_tensorflows(name: str, executor: str) -> None:
    function = getattr(special, name)
    traced = function if executor == "eager" else on(executor, function)
    np.testing.assert_allclose(traced(rt.constant(POINTS)), VALUES[name], rtol=1e-12)
    single = traced(rt.constant(POINTS.astype(np.float32)))
    assert single.dtype == rt.float32
    np.testing.assert_allclose(single, VALUES[name], rtol=2e-5)  # 45 has no exact trigonometric functions in float32


@pytest.mark.parametrize("name", VALUES)
def test_pieces_join(name: str) -> None:
    """Both sides of the points where a function is computed in another way."""
    for at in (0.5, 1.0, 1.5, 6.0, 10.0, 30.0, 40.0):
        below, above = getattr(special, name)(rt.constant([at * (1 - 1e-13), at * (1 + 1e-13)], rt.float64))
        np.testing.assert_allclose(below, above, rtol=2e-11, atol=1e-12, err_msg=f"at {at}")


def test_signs_and_ends() -> None:
    x = rt.constant(POINTS)
    for name, sign in (("bessel_i0", 1), ("bessel_i0e", 1), ("bessel_i1", -1), ("bessel_i1e", -1), ("bessel_j0", 1),
                       ("bessel_j1", -1), ("dawsn", -1), ("fresnel_cos", -1), ("fresnel_sin", -1)):
        function = getattr(special, name)
        np.testing.assert_array_equal(function(-x), sign * function(x), err_msg=name)
        assert function(0.0) == (1 if name in ("bessel_i0", "bessel_i0e", "bessel_j0") else 0)
    for name in ("bessel_k0", "bessel_k1", "bessel_k0e", "bessel_k1e"):
        assert getattr(special, name)([0.0, -1.0]).numpy().tolist() == [math.inf, math.inf]
    for name in ("bessel_y0", "bessel_y1"):
        assert getattr(special, name)([0.0, -1.0]).numpy().tolist() == [-math.inf, -math.inf]
    assert special.expint(0.0) == -math.inf and np.isnan(special.expint(-1.0)) and np.isnan(special.spence(-1.0))
    assert special.spence(1.0) == 0 and special.bessel_j0(math.inf) == 0 and special.fresnel_cos(math.inf) == 0.5
    assert np.isnan(special.dawsn(math.nan)) and special.dawsn(np.zeros([0, 2])).shape == (0, 2)
    assert rt.math.bessel_i0 is special.bessel_i0 and special.dawsn.__name__ == "dawsn"
    with pytest.raises(rt.errors.DTypeError, match="spence"):
        special.spence(1)


def test_wronskians() -> None:
    x = np.linspace(0.05, 60, 400)
    j0, j1, y0, y1, i0, i1, k0, k1 = (getattr(special, f"bessel_{name}")(x).numpy() for name in (
        "j0", "j1", "y0", "y1", "i0e", "i1e", "k0e", "k1e"))
    np.testing.assert_allclose((j1 * y0 - j0 * y1) * x, np.full(400, 2 / math.pi), rtol=1e-12)
    np.testing.assert_allclose((i0 * k1 + i1 * k0) * x, np.ones(400), rtol=1e-13)


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("executor", ["eager", "native", "numpy"])
def test_derivatives(name: str, executor: str) -> None:
    def slope(x):
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = getattr(special, name)(x)
        return tape.gradient(y, x)

    x, step = np.array([0.2, 0.9, 1.0, 2.3, 7.5]), 1e-5
    found = (slope if executor == "eager" else on(executor, slope))(rt.constant(x))
    expected = (getattr(special, name)(x + step) - getattr(special, name)(x - step)) / (2 * step)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    zero = slope(rt.constant([0.0], rt.float64))
    at_zero = {"bessel_i1": 0.5, "bessel_i1e": 0.5, "bessel_j1": 0.5, "dawsn": 1, "fresnel_cos": 1}
    if name in at_zero or name in ("bessel_i0", "bessel_i0e", "bessel_j0", "fresnel_sin"):
        assert zero == at_zero.get(name, 0)


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_row_by_row(executor: str) -> None:
    x = np.linspace(0.1, 4, 12).reshape(4, 3)
    traced = rt.function(lambda x: rt.vectorized_map(special.dawsn, x), executor=executor)
    np.testing.assert_array_equal(traced(rt.constant(x)), special.dawsn(x))
