"""The elementary functions of the native executor against longer arithmetic: how many units in the last place they err.

The truth is NumPy's on long doubles; of the error functions, series and continued fractions on long doubles.
"""
from __future__ import annotations

import ctypes
import functools
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

llvm = pytest.importorskip("llvmlite.binding", reason="the native executor needs llvmlite")

import runtime as rt  # noqa: E402
from runtime.backends.native.jit.compile import vector_bits  # noqa: E402
from runtime.backends.native.libm.registry import BRANCHING, FUNCTIONS, call  # noqa: E402
from runtime.backends.native.llvm.builder import Builder, Module, Val, const  # noqa: E402
from runtime.ops import math as kernels  # noqa: E402

long = np.longdouble
DTYPES = {"float": np.float32, "double": np.float64}
BITS = {"float": np.uint32, "double": np.uint64}
BINARY = ("pow", "atan2", "fmod", "mod", "floordiv")
EXACT = {"fmod": np.fmod, "mod": np.mod, "floordiv": np.floor_divide}

# Units in the last place; 2 for what is not named. Without fused multiplication, 2 for all but sqrt.
LIMITS = {"sqrt": 0.5, "exp": 1.0, "log": 1.0, "sin": 1.0, "cos": 1.0, "tan": 1.0, "acos": 1.0, "pow": 1.1}

POWERS = {f"pow.{twice}": twice / 2 for twice in (-15, -6, -3, -1, 3, 6, 16)}  # of those by constants
NAMES = [name for name in FUNCTIONS if name not in EXACT and (not name.startswith("pow.") or name in POWERS)]

needs_long = pytest.mark.skipif(np.finfo(long).nmant < 63, reason="the truth needs long doubles of 80 bits")


# Compiling: for each function a loop over arrays.

class Compiled:
    """Loops over the functions named; with a `constant`, that is their last operand."""

    def __init__(self, kind: str, lanes: int, fma: bool, level: int, names: Iterable[str] = (*NAMES, *EXACT),
                 constant: float | None = None) -> None:
        module = Module(fma, vector_bits())
        for name in names:
            arity = (2 if name in BINARY else 1) - (constant is not None)
            module.define(f"loop_{name}", "void", ["ptr"] * (arity + 1) + ["i64"],
                          functools.partial(_write_loop, name, kind, lanes, constant), "nounwind", linkage="")
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=level)
        parsed = llvm.parse_assembly(module.text())
        parsed.verify()
        parsed.triple, parsed.data_layout = machine.triple, str(machine.target_data)
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        options.loop_vectorization = level > 2
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(parsed, builder)
        self.text = str(parsed)
        self.engine = llvm.create_mcjit_compiler(parsed, machine)
        self.engine.finalize_object()
        self.lanes = lanes

    def __call__(self, name: str, *xs: np.ndarray) -> np.ndarray:
        padding = np.ones(-xs[0].size % self.lanes, xs[0].dtype)
        padded = [np.concatenate([x, padding]) for x in xs]
        out = np.empty_like(padded[0])
        signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(xs) + 1), ctypes.c_int64)
        signature(self.engine.get_function_address(f"loop_{name}"))(
            *[x.ctypes.data for x in padded], out.ctypes.data, out.size)
        return out[:xs[0].size]

    def body(self, name: str) -> str:
        """The optimised text of the loop over `name`."""
        found = re.search(rf"^define void @loop_{name}\(.*?^}}", self.text, re.DOTALL | re.MULTILINE)
        assert found
        return found[0]


def _write_loop(name: str, kind: str, lanes: int, constant: float | None, b: Builder, *args: Val) -> None:
    ty = kind if lanes == 1 else f"<{lanes} x {kind}>"
    *sources, out, size = args
    with b.loop(0, size, lanes) as i:
        xs = [b.load(ty, b.offset(source, i, kind)) for source in sources]
        if constant is not None:
            xs.append(const(ty, constant))
        b.store(call(b, name, *xs), b.offset(out, i, kind))


WAYS = {"loop": (1, True, 3), "vectors": (8, True, 1), "unfused": (1, False, 1)}


@functools.cache
def compiled(kind: str, way: str) -> Compiled:
    return Compiled(kind, *WAYS[way])


# Operands: bit patterns over the whole range, what is near 0, near 1 and in between, and edges.

def edges(kind: str) -> np.ndarray:
    info = np.finfo(DTYPES[kind])
    some = [0, 1, 2, 3, 0.5, 1.5, 10, 1e22, 1e10, np.pi / 2, np.pi, 7, 0.55, info.max, info.tiny,
            info.smallest_subnormal, 3 * info.smallest_subnormal, 1 + info.eps, 1 - info.epsneg,
            2.0 ** info.nmant, 2.0 ** info.nmant + 1, 2.0 ** (info.nmant + 1), -info.minexp, info.maxexp, np.inf]
    thresholds = [88.722839, 88.72284, 103.97208, 103.9721, 104, 709.782712893384, 709.782712893385, 745.1332191019411,
                  745.1332191019412, 89.41598, 89.416, 710.4758600739439, 710.475860073944, 26.5433, 27.3, 10.05]
    values = np.array(some + thresholds).astype(DTYPES[kind])
    return np.concatenate([values, -values, [np.nan]]).astype(DTYPES[kind])


@functools.cache
def operands(kind: str) -> np.ndarray:
    rng, count, dtype = np.random.default_rng(7), 12000, DTYPES[kind]
    sign = rng.choice([-1, 1], count)
    parts = [rng.integers(0, 2 ** (8 * dtype().itemsize), count, dtype=BITS[kind]).view(dtype), edges(kind)]
    parts += [rng.uniform(-size, size, count) for size in (1, 3, 20, 120, 800)]
    parts += [sign * 2.0 ** rng.uniform(-60, 12, count), sign * (1 + sign * 2.0 ** rng.uniform(-54, 0, count))]
    near = rng.integers(1, 2 ** 16, count) * (np.pi / 2)  # where sin or cos is small
    return np.concatenate([part.astype(dtype) for part in [*parts, near]])


@functools.cache
def pairs(kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng, count, dtype = np.random.default_rng(8), 12000, DTYPES[kind]
    high = 1020 if kind == "double" else 126
    bits = rng.integers(0, 2 ** (8 * dtype().itemsize), (2, count), dtype=BITS[kind]).view(dtype)
    base = 2.0 ** rng.uniform(-high, high, count)
    near = 1 + rng.choice([-1, 1], count) * 2.0 ** rng.uniform(-20, -1, count)
    whole = rng.integers(-20, 20, (2, count)).astype(dtype)
    x = [bits[0], base, near, rng.uniform(-3, 3, count), whole[0], whole[0] / dtype(10), bits[0]]
    y = [bits[1], rng.uniform(-1, 1, count) * high / np.maximum(1, abs(np.log2(base))),
         rng.uniform(-1, 1, count) * high / abs(np.log2(near)), rng.uniform(-2, 2, count), whole[1],
         whole[1] / dtype(10),
         np.nan_to_num(bits[0]).astype(long) * 2.0 ** rng.uniform(-60, 60, count)]
    grid = np.meshgrid(edges(kind), edges(kind))
    with np.errstate(over="ignore", invalid="ignore"):
        return (np.concatenate([part.astype(dtype) for part in [*x, grid[0].ravel()]]),
                np.concatenate([part.astype(dtype) for part in [*y, grid[1].ravel()]]))


# Truth.

SLOPE = 2 / np.sqrt(long(np.pi) + long(1.2246467991473532e-16))  # of erf at 0


def _exp_minus_square(x: np.ndarray) -> np.ndarray:
    """exp(-x²) of floats: x² in two parts."""
    high = x.astype(np.float32).astype(long)
    return np.exp(-high * high) * np.exp(-(x - high) * (x + high))


def _erf_series(x: np.ndarray) -> np.ndarray:
    term = total = np.minimum(abs(x), 3)
    square = term * term
    for k in range(1, 90):
        term = term * square * 2 / (2 * k + 1)
        total = total + term
    return np.copysign(total * SLOPE * _exp_minus_square(x), x)


def _erfc_fraction(x: np.ndarray) -> np.ndarray:
    x = np.clip(x, 1.5, 150)
    below = np.zeros_like(x)
    for k in range(200, 0, -1):
        below = k / 2 / (x + below)
    return _exp_minus_square(x) / (x + below) * SLOPE / 2


def true_erf(x: np.ndarray) -> np.ndarray:
    far = 1 - _erfc_fraction(abs(x))
    return np.where(np.isnan(x), x, np.where(abs(x) < 2, _erf_series(x), np.copysign(far, x)))


def true_erfc(x: np.ndarray) -> np.ndarray:
    far = _erfc_fraction(abs(x))
    return np.where(np.isnan(x), x, np.where(x < 1.5, np.where(x < -2, 2 - far, 1 - _erf_series(x)), far))


def true_erfinv(x: np.ndarray) -> np.ndarray:
    """Newton's method from what the kernel gives, which is to change little."""
    a = abs(x)
    y = kernels._erfinv(a.astype(np.float64)).astype(long)
    start = np.where(a < 1, y, 0)
    near = true = start
    for _ in range(2):
        error = np.where(a < 1, np.where(a < 0.5, a - true_erf(true), true_erfc(true) - (1 - a)), 0)
        near, true = true, true + error / (SLOPE * _exp_minus_square(true))
    assert np.all(abs(true - near) <= 1e-17 * true)
    assert np.all(abs(true - start) <= 1e-15 * true)
    return np.copysign(np.where(a < 1, true, y), x)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-abs(x)))


TRUTH: dict[str, Callable[..., np.ndarray]] = {
    "sqrt": np.sqrt, "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sigmoid": _sigmoid,
    "softplus": _softplus, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "atan2": np.arctan2, "pow": np.power, "erf": true_erf, "erfc": true_erfc, "erfinv": true_erfinv,
    **{name: functools.partial(lambda y, x: np.power(x, long(y)), y) for name, y in POWERS.items()},
}


SPARSE = {"erf": 5, "erfc": 5, "erfinv": 13}  # every how many of the operands, where the truth is slow


@functools.cache
def cases(name: str, kind: str) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    xs = pairs(kind) if name in BINARY else (operands(kind)[::SPARSE.get(name, 1)],)
    with np.errstate(all="ignore"):
        return xs, TRUTH[name](*[x.astype(long) for x in xs])


def errors(got: np.ndarray, true: np.ndarray) -> np.ndarray:
    """How far off, in units of the last place of the rounded truth; infinite for NaN or a zero's sign."""
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        rounded = true.astype(got.dtype)
        # infinity counts as the power of two that is too great
        size = np.spacing(np.minimum(abs(rounded), np.nextafter(info.max, 0))).astype(long)
        error = abs(np.where(np.isinf(got), np.copysign(long(2) ** info.maxexp, got), got.astype(long)) - true) / size
    same = (got == rounded) & (np.signbit(got) == np.signbit(rounded)) | (np.isnan(got) & np.isnan(rounded))
    wrong = np.isnan(error) | (~same & (rounded == 0) & (got == 0))
    return np.where(same & ~np.isfinite(rounded), 0, np.where(wrong, np.inf, error))


@needs_long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_error(name: str, kind: str, way: str) -> None:
    xs, true = cases(name, kind)
    got = compiled(kind, way)(name, *xs)
    error = errors(got, true)
    worst = int(np.argmax(error))
    limit = LIMITS.get(name, 2.0) if way != "unfused" or name == "sqrt" else 2.0
    assert error[worst] <= limit, (
        f"{name}({', '.join(repr(x[worst]) for x in xs)}) is {got[worst]!r}, not {true[worst]!r}: "
        f"{error[worst]:.3f} ulp")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", EXACT)
def test_remainders_are_numpys(name: str, kind: str, way: str) -> None:
    x, y = pairs(kind)
    with np.errstate(all="ignore"):
        want = EXACT[name](x, y)
    got = compiled(kind, way)(name, x, y)
    differ = (got.view(BITS[kind]) != want.view(BITS[kind])) & ~(np.isnan(got) & np.isnan(want))
    assert not differ.any(), [(x[i], y[i], got[i], want[i]) for i in np.flatnonzero(differ)[:5]]


@pytest.mark.parametrize("kind", DTYPES)
def test_constant_operand(kind: str) -> None:
    """A called function keeps the operands that its vector variants have, also one that is the same in all calls."""
    loop = Compiled(kind, 1, True, 3, ["mod"], constant=2.5)
    assert re.search(rf"call <\d+ x {kind}> @mod\.{kind}x\d+\(", loop.body("mod"))
    x = operands(kind)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(loop("mod", x), np.mod(x, DTYPES[kind](2.5)))


@needs_long
@pytest.mark.parametrize("way", ["loop", "vectors"])
@pytest.mark.parametrize("kind", DTYPES)
def test_powers_by_constants_are_rounded_once(kind: str, way: str) -> None:
    """So that they are C's, whose error is hardly more than half a unit."""
    for name in POWERS:
        (x,), true = cases(name, kind)
        info = np.finfo(x.dtype)
        with np.errstate(all="ignore"):
            normal = (abs(x) >= info.tiny) & (abs(true) > info.tiny / info.eps ** 2)
        error = errors(compiled(kind, way)(name, x), true)[normal]
        assert error.max() <= 0.502, name


@pytest.mark.parametrize("exponent", [-2.5, -1.0, -0.5, 0.5, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_by_constants(dtype: Any, exponent: float) -> None:
    """As C's `pow`, also of what NumPy's `power` treats as a root: -0.0 and -inf."""
    x = np.array([0.0, -0.0, 1.0, -1.0, 4.0, 2.0, 0.1, np.inf, -np.inf, np.nan, np.finfo(dtype).max], dtype)
    c = ctypes.CDLL(None).pow
    c.restype, c.argtypes = ctypes.c_double, [ctypes.c_double] * 2
    want = np.array([c(float(value), exponent) for value in x])
    with np.errstate(all="ignore"):
        want = want.astype(dtype)
    f = rt.function(lambda x: x ** exponent, executor="native")
    for got in (f(rt.constant(x)).numpy(), np.array([f(rt.constant(value)).numpy() for value in x])):
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got[~np.isnan(want)]), np.signbit(want[~np.isnan(want)]))


@pytest.mark.parametrize("way", WAYS)
def test_sines_of_large_numbers(way: str) -> None:
    """Of 1e22, of the greatest double, and of that which is nearest to a multiple of pi/2."""
    x = np.array([1e22, 1.7976931348623157e308, 6381956970095103 * 2.0 ** 797])
    sin, cos = compiled("double", way)("sin", x), compiled("double", way)("cos", x)
    assert sin.tolist() == [-0.8522008497671888, 0.004961954789184062, 1.0]
    assert cos.tolist() == [0.523214785395139, -0.9999876894265599, -4.687165924254628e-19]


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", [*NAMES, *EXACT])
def test_loops_are_vectorised(name: str, kind: str) -> None:
    body = compiled(kind, "loop").body(name)
    assert re.search(rf"store <\d+ x {kind}>", body)
    assert bool(re.search(rf"call <\d+ x {kind}> @{name}\.{kind}x\d+\(", body)) == (name in BRANCHING)


def test_defined_once() -> None:
    module = Module()
    b = Builder(module)
    for value in 1.0, 2.0:
        call(b, "exp", const("float", value))
    call(b, "exp", const("<4 x float>", 1.0))
    assert re.findall(r"define .*?@([\w.]+)\(", module.text()) == ["exp.float", "exp.floatx4"]


# The tests themselves.

@needs_long
def test_truth() -> None:
    """Against published digits (NIST Digital Library of Mathematical Functions; Abramowitz and Stegun, table 7.1)."""
    for function, x, digits in (
        (true_erf, 0.5, "0.52049987781304653768"), (true_erf, 2.5, "0.99959304798255504106"),
        (true_erfc, 1.0, "0.15729920705028513066"), (true_erfc, 2.0, "0.00467773498104726584"),
        (true_erfc, 3.0, "2.2090496998585441373e-05"), (true_erfc, -1.0, "1.84270079294971486934"),
        (true_erfinv, 0.5, "0.47693627620446987338"),
    ):
        got = function(np.array([x], long))[0]
        assert abs(got / long(digits) - 1) < 1e-18, (function.__name__, x, got)


@needs_long
def test_kernel_of_erfinv() -> None:
    """It once lost digits near 0, and was wrong from 1 - 1e-9 on."""
    steps = 2.0 ** -np.arange(1, 54)
    true_erfinv(np.concatenate([steps, -steps, 1 - steps, steps - 1]).astype(long))


def test_errors_are_counted() -> None:
    above, great = np.nextafter(np.float32(1), np.float32(2)), np.finfo(np.float32).max
    for got, true, want in (
        (1, 1, 0), (above, 1, 1), (-0.0, 0, np.inf), (np.nan, 1, np.inf), (1, np.nan, np.inf), (np.nan, np.nan, 0),
        (np.inf, long(2) ** 128, 0), (great, long(2) ** 128, 1), (np.inf, great, 1),
        (1e-45, 0.75 * long(2) ** -149, 0.25), (-np.inf, long(2) ** 128, np.inf), (np.inf, 1, np.inf),
    ):
        error = errors(np.array([got], np.float32), np.array([true], long))[0]
        assert error == want or (error > 2 ** 20 and want == np.inf), (got, true, error)


@pytest.mark.optimised
def test_a_call_with_invariant_operands_leaves_the_loop() -> None:
    """Also behind a check that may end the loop: it has no effect."""
    def scaled(x: Any, y: Any, out: Any) -> None:
        for k in range(len(y)):
            for i in range(len(x)):
                out[i] += math.sin(x[i] - y[k]) * math.cos(y[k])

    x, y, out = np.arange(100.0), np.ones(30), np.zeros(100)
    f = rt.function(scaled, executor="native")
    f(x, y, out)
    np.testing.assert_allclose(out, 30 * np.sin(x - 1.0) * np.cos(1.0), rtol=1e-14)
    body = f.get_concrete_function(x, y, out).inspect_llvm().partition("@body(")[2]
    assert 0 < body.index("@cos.double(") < body.index("@sin.double(")
