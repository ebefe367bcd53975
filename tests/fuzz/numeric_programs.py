"""Random numeric programs as text: ops on arrays of all dtypes and shapes, loops, branches, Python's numbers.

Each statement is tried on eager tensors as it is written, so that the writer knows dtypes and shapes, and what no op
takes is not written. What is assigned in loops keeps its dtype and shape.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import runtime as rt
from fuzz.numeric_values import DTYPES, FLOATS, INTS, SIZES, Argument, random_argument
from runtime.core.op import REGISTRY
from runtime.core.tensor import EagerTensor
from runtime.core.trace import apply

__all__ = ["NAMESPACE", "NumericProgram", "generate"]


def op(name: str, *operands: Any) -> Any:
    """An op that has no public name of its own."""
    return apply(REGISTRY[name], *operands)


NAMESPACE = {"rt": rt, "op": op}
MOST = 5000  # elements
FLOAT_UNARY = (
    "rt.sqrt(rt.abs({x}))", "rt.sqrt({x})", "rt.exp({x})", "rt.math.expm1({x})", "rt.math.log({x})",
    "rt.math.log1p({x})",
    "rt.math.log(rt.abs({x}) + 1)", "rt.sigmoid({x})", "rt.math.softplus({x})", "rt.tanh({x})", "rt.sin({x})",
    "rt.cos({x})", "rt.tan({x})", "rt.asin({x})", "rt.acos({x})", "rt.atan({x})", "rt.sinh({x})", "rt.cosh({x})",
    "rt.asinh({x})", "rt.acosh({x})", "rt.atanh({x})", "rt.math.erf({x})", "rt.math.erfc({x})", "rt.math.erfinv({x})",
    "rt.math.reciprocal({x})", "rt.math.rsqrt({x})", "rt.nn.relu({x})", "rt.nn.relu6({x})", "rt.nn.elu({x})",
    "rt.nn.selu({x})", "rt.nn.gelu({x})", "rt.nn.silu({x})", "rt.nn.softsign({x})", "rt.nn.leaky_relu({x})",
    "rt.floor({x})", "rt.math.ceil({x})", "rt.math.rint({x})", "rt.round({x})", "op('log2', {x})", "op('log10', {x})",
    "op('exp2', {x})", "op('cbrt', {x})", "{x} ** 2", "{x} ** 3", "{x} ** 0.5", "{x} ** -1", "{x} ** -2.0", "1 / {x}",
    "0.3 * {x} + 0.7 * {x} * {x}", "rt.cast(rt.math.is_nan({x}), rt.int32)", "rt.math.is_finite({x})",
    "rt.math.is_inf({x})", "1.5 - {x}", "{x} / 3", "{x} // 0.7", "{x} % 0.3", "{x} * 1e20", "{x} + 1e-3",
    "rt.sign({x})",
)
ANY_UNARY = ("-{x}", "rt.abs({x})", "{x} + 1", "{x} * 2", "{x} * {x}", "rt.square({x})", "{x} - 3", "rt.identity({x})",
             "rt.stop_gradient({x})", "rt.zeros_like({x})", "rt.ones_like({x}) + {x}", "{x} * {n}")
INT_UNARY = ("{x} // 3", "{x} % 5", "{x} // -2", "{x} % -7", "~{x}", "{x} & 6", "{x} | 9", "{x} ^ 5", "{x} << 1",
             "{x} >> 2", "rt.sign({x})", "{x} ** 2", "rt.maximum({x}, 3)", "rt.minimum({x}, 2)",
             "{x} / 4", "7 // ({x} * 0 + 2)")
COMPLEX_UNARY = ("rt.math.real({x})", "rt.math.imag({x})", "rt.math.conj({x})", "rt.math.angle({x})", "rt.exp({x})",
                 "rt.math.log({x})", "rt.sqrt({x})", "rt.sin({x})", "rt.tanh({x})", "1 / {x}", "{x} ** 2",
                 "rt.cos({x})")
BINARY = ("{x} + {y}", "{x} - {y}", "{x} * {y}", "rt.math.squared_difference({x}, {y})", "{x} == {y}", "{x} != {y}",
          "rt.add_n([{x}, {y}, {x}])")
REAL_BINARY = ("rt.maximum({x}, {y})", "rt.minimum({x}, {y})", "{x} < {y}", "{x} >= {y}",
               "rt.where({x} < {y}, {x}, {y})",
               "rt.where({x} > 0, {x}, {y})", "{x} // {y}", "{x} % {y}", "rt.clip_by_value({x}, -2, 3)")
FLOAT_BINARY = ("{x} / {y}", "rt.atan2({x}, {y})", "op('hypot', {x}, {y})", "op('fmod', {x}, {y})", "{x} * {y} + {x}",
                "op('copysign', {x}, {y})", "rt.math.divide_no_nan({x}, {y})", "rt.math.multiply_no_nan({x}, {y})",
                "rt.math.xlogy({x}, {y})", "rt.pow(rt.abs({x}), {y})", "{x} ** {y}", "{x} * {y} - {x} / {y}",
                "op('nextafter', {x}, {y})")
INT_BINARY = ("{x} & {y}", "{x} | {y}", "{x} ^ {y}", "{x} // ({y} | 1)", "{x} % ({y} | 1)", "{x} << ({y} & 3)",
              "{x} >> ({y} & 3)", "rt.bitwise.bitwise_and({x}, {y})")
BOOL_UNARY = ("rt.logical_not({x})", "~{x}", "rt.cast({x}, rt.float32)", "rt.cast({x}, rt.int32) + 1", "{x} ^ True")
BOOL_BINARY = ("rt.logical_and({x}, {y})", "rt.logical_or({x}, {y})", "rt.math.logical_xor({x}, {y})", "{x} & {y}",
               "{x} | {y}", "{x} == {y}")
REDUCTIONS = ("rt.reduce_sum", "rt.reduce_sum", "rt.reduce_prod", "rt.reduce_mean")
REAL_REDUCTIONS = ("rt.reduce_max", "rt.reduce_min")
FLOAT_REDUCTIONS = ("rt.reduce_logsumexp", "rt.math.reduce_std", "rt.math.reduce_variance",
                    "rt.math.reduce_euclidean_norm")
CASTS = tuple([f"rt.{d}" for d in DTYPES])
NUMBERS = ("0.5", "2.0", "0.1", "-1.5", "3", "1", "-2", "0", "1e-3", "7")


class NumericProgram:
    """A program, what it is called with, and how its types are given to the trace."""

    def __init__(self, text: str, arguments: dict[str, Argument], relaxed: bool) -> None:
        self.text, self.arguments, self.relaxed = text, arguments, relaxed

    def __str__(self) -> str:
        given = "".join(f"    {name} = {argument}\n" for name, argument in self.arguments.items())
        return f"{self.text}\n{given}    unknown sizes: {self.relaxed}"


def generate(seed: int) -> NumericProgram:
    return _Writer(seed).program()


class _Writer:
    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.values: dict[str, Any] = {}
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.loops = 0  # around what is written
        self.fresh = True  # whether assignments may make new names

    # What is there.

    def name(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def names(self, fits: Callable[[Any], bool] = lambda x: True) -> list[str]:
        return [k for k, v in self.values.items() if isinstance(v, EagerTensor) and fits(v._array)]

    def pick(self, fits: Callable[[Any], bool] = lambda x: True) -> str | None:
        found = self.names(fits)
        if not found:
            return None
        late = found[-4:]
        return self.r.choice(late if self.r.random() < 0.6 else found)

    def number(self, name: str) -> Any:
        return self.values[name]._array

    def value(self, text: str) -> Any:
        """What an expression gives eagerly, or None if nothing, or too much."""
        try:
            with np.errstate(all="ignore"):
                found = eval(text, {**NAMESPACE, **self.values})
        except Exception:
            return None
        if isinstance(found, EagerTensor) and found._array.size <= MOST and found._array.ndim <= 4:
            return found
        return None

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def assign(self, text: str | None, name: str | None = None) -> str | None:
        if text is None or len(text) > 160:
            return None
        found = self.value(text)
        if found is None:
            return None
        name = name or self.name()
        self.write(f"{name} = {text}")
        self.values[name] = found
        return name

    # Expressions.

    def expression(self) -> str | None:
        r = self.r
        kind = r.choices((self.unary, self.binary, self.view, self.reduction, self.product, self.order, self.scatter,
                          self.cast, self.joined, self.cumulative, self.window, self.system),
                         (7, 8, 5, 5, 2, 1.2, 1, 2.5, 1.5, 1.2, 0.4, 0.2))[0]
        return kind()

    def unary(self) -> str | None:
        r = self.r
        x = self.pick()
        if x is None:
            return None
        kind = self.number(x).dtype.kind
        table = {"f": FLOAT_UNARY + ANY_UNARY, "i": INT_UNARY + ANY_UNARY, "u": INT_UNARY + ANY_UNARY, "b": BOOL_UNARY,
                 "c": COMPLEX_UNARY + ANY_UNARY}[kind]
        text = r.choice(table).format(x=x, n=r.choice(NUMBERS))
        if r.random() < 0.25 and kind == "f":
            text = r.choice(FLOAT_UNARY).format(x=f"({text})")
        return text

    def binary(self) -> str | None:
        r = self.r
        x = self.pick()
        if x is None:
            return None
        a = self.number(x)
        y = self.pick(lambda b: b.dtype == a.dtype and _broadcast(a.shape, b.shape))
        kind = a.dtype.kind
        if r.random() < 0.15 and kind != "b":
            y = r.choice(NUMBERS)
        if y is None:
            return None
        table = {"f": BINARY + REAL_BINARY + 2 * FLOAT_BINARY, "i": BINARY + REAL_BINARY + INT_BINARY,
                 "u": BINARY + REAL_BINARY + INT_BINARY, "b": BOOL_BINARY,
                 "c": (*BINARY, "{x} / {y}", "{x} ** {y}")}[kind]
        return r.choice(table).format(x=x, y=y)

    def cast(self) -> str | None:
        x = self.pick()
        if x is None:
            return None
        how = "rt.saturate_cast" if self.r.random() < 0.15 else "rt.cast"
        return f"{how}({x}, {self.r.choice(CASTS if self.r.random() < 0.6 else ('rt.float32', 'rt.float64'))})"

    def view(self) -> str | None:
        r = self.r
        x = self.pick(lambda a: a.ndim > 0)
        if x is None:
            return None
        shape = self.number(x).shape
        rank, size = len(shape), int(np.prod(shape))
        axis = r.randrange(rank)
        kind = r.randrange(11)
        if kind < 4:
            return f"{x}[{self.index(shape)}]"
        if kind == 4:
            return f"rt.transpose({x}, {r.sample(range(rank), rank)})"
        if kind == 5:
            whole = [d for d in range(1, 40) if size and size % d == 0] or [1]
            first = r.choice(whole)
            return f"rt.reshape({x}, {r.choice([[first, -1], [-1], [-1, first], [1, -1, first]])})"
        if kind == 6:
            return f"rt.reverse({x}, [{axis}])"
        if kind == 7:
            return f"rt.roll({x}, {r.randint(-3, 3)}, {axis})"
        if kind == 8:
            return r.choice([f"rt.tile({x}, {[r.randint(1, 2) for _ in shape]})", f"rt.repeat({x}, 2, {axis})"])
        if kind == 9:
            return r.choice([f"rt.expand_dims({x}, {axis})", f"rt.broadcast_to({x}, {[2, *shape]})",
                             f"{x}[..., None]", f"rt.squeeze({x})"])
        pairs = [[r.randint(0, 2), r.randint(0, 2)] for _ in shape]
        return f"rt.pad({x}, {pairs}, '{r.choice(['CONSTANT', 'REFLECT', 'SYMMETRIC'])}')"

    def index(self, shape: Sequence[int]) -> str:
        r = self.r
        parts = []
        for d in shape[:r.randint(1, len(shape))]:
            if d and r.random() < 0.35:
                scalars = self.names(lambda a: a.dtype.kind == "i" and a.shape == () and a.dtype.itemsize > 2)
                parts.append(f"{r.choice(scalars)} % {d}" if scalars and r.random() < 0.4 else str(r.randrange(-d, d)))
            else:
                bounds = ["", "", *map(str, (0, 1, 2, -1, -2, d // 2, d + 3))]
                parts.append(f"{r.choice(bounds)}:{r.choice(bounds)}:{r.choice(['', '', '2', '-1', '-2', '3'])}")
        return ", ".join(parts)

    def axes(self, rank: int) -> str:
        r = self.r
        if rank == 0 or r.random() < 0.4:
            return "None"
        chosen = r.sample(range(rank), r.randint(1, rank))
        return str(chosen[0] - r.choice([0, rank])) if len(chosen) == 1 else str(chosen)

    def reduction(self) -> str | None:
        r = self.r
        x = self.pick(lambda a: a.ndim > 0)
        if x is None:
            return None
        a = self.number(x)
        kind = a.dtype.kind
        axis, keep = self.axes(a.ndim), r.choice(["", "", ", keepdims=True"])
        if kind == "b":
            return f"rt.{r.choice(['reduce_all', 'reduce_any', 'math.count_nonzero'])}({x}, {axis}{keep})"
        if r.random() < 0.15 and kind != "c":
            return f"rt.{r.choice(['argmax', 'argmin'])}({x}, {r.randrange(a.ndim)})"
        if r.random() < 0.2 and kind == "f":
            one = r.randrange(a.ndim)
            return r.choice([f"rt.nn.softmax({x}, {one})", f"rt.nn.log_softmax({x}, {one})",
                             f"rt.norm({x}, axis={one})",
                             f"rt.math.l2_normalize({x}, {one})", f"rt.norm({x}, 1, {one})", f"rt.nn.l2_loss({x})",
                             f"rt.reduce_sum({x} * {x}, {axis}{keep})", f"rt.reduce_sum(rt.abs({x}), {axis}{keep})",
                             f"rt.reduce_max(rt.abs({x}), {axis}{keep})", f"rt.reduce_sum(rt.exp({x}), {axis}{keep})"])
        table = REDUCTIONS + (REAL_REDUCTIONS if kind != "c" else ()) + (FLOAT_REDUCTIONS if kind == "f" else ())
        return f"{r.choice(table)}({x}, {axis}{keep})"

    def cumulative(self) -> str | None:
        x = self.pick(lambda a: a.ndim > 0 and a.dtype.kind != "b")
        if x is None:
            return None
        r = self.r
        axis, exclusive, backwards = r.randrange(self.number(x).ndim), r.random() < 0.3, r.random() < 0.3
        return f"rt.{r.choice(['cumsum', 'math.cumprod'])}({x}, {axis}, {exclusive}, {backwards})"

    def product(self) -> str | None:
        r = self.r
        x = self.pick(lambda a: a.ndim in (1, 2) and a.dtype.kind in "fci" and (a.dtype.kind != "i" or a.itemsize > 2))
        if x is None:
            return None
        a = self.number(x)
        if a.ndim == 1:
            y = self.pick(lambda b: b.dtype == a.dtype and b.shape == a.shape)
            return r.choice([f"rt.tensordot({x}, {y}, 1)", f"rt.einsum('i,i->', {x}, {y})",
                             f"rt.einsum('i,j->ij', {x}[:9], {y}[:5])", f"rt.reduce_sum({x} * {y})"])
        y = self.pick(lambda b: b.dtype == a.dtype and b.ndim == 2 and b.shape[0] == a.shape[1]) or x
        z = self.pick(lambda b: b.dtype == a.dtype and b.shape == a.shape[1:])
        vector = [f"rt.linalg.matvec({x}, {z})", f"rt.einsum('ij,j->i', {x}, {z})"] if z else []
        return r.choice([f"rt.matmul({x}, {y})", f"rt.matmul({x}, {x}, transpose_b=True)", f"{x} @ {y}",
                         f"rt.matmul({x}, {x}, transpose_a=True)", f"rt.einsum('ij,ik->jk', {x}, {x})",
                         f"rt.einsum('ij,ij->i', {x}, {x})", f"rt.einsum('ij->ji', {x})", *vector])

    def order(self) -> str | None:
        r = self.r
        x = self.pick(lambda a: a.ndim > 0 and a.dtype.kind in "fiu")
        if x is None:
            return None
        a = self.number(x)
        axis, way = r.randrange(a.ndim), r.choice(["ASCENDING", "DESCENDING"])
        k = r.randint(0, a.shape[-1])
        return r.choice([
            f"rt.sort({x}, {axis}, '{way}')", f"rt.argsort({x}, {axis}, '{way}')", f"rt.math.top_k({x}, {k})[0]",
            f"rt.math.top_k({x}, {k})[1]", f"rt.unique(rt.reshape({x}, [-1]))[1]",
            f"rt.searchsorted(rt.sort(rt.reshape({x}, [-1])), rt.reshape({x}, [-1])[:5])",
            f"rt.reduce_sum(rt.boolean_mask({x}, {x} > 0))"])

    def scatter(self) -> str | None:
        r = self.r
        x = self.pick(lambda a: a.ndim > 0 and a.shape[0] > 0 and a.dtype.kind in "fiuc")
        if x is None:
            return None
        a = self.number(x)
        n = a.shape[0]
        where = [r.randrange(n) for _ in range(r.randint(0, 5))]
        near = f"rt.constant({where}, rt.int32)"
        how = r.choice(["update", "add", "sub"] + (["max", "min"] if a.dtype.kind != "c" else []))
        ids = f"rt.range({n}) % {r.randint(1, 4)}"
        return r.choice([
            f"rt.gather({x}, {near})", f"rt.gather({x}, {near})", f"rt.gather({x}, rt.range({n})[::-2] % {n})",
            f"rt.tensor_scatter_nd_{how}({x}, {near}[:, None], rt.gather({x}, {near}[::-1]))",
            f"rt.math.unsorted_segment_sum({x}, {ids}, 4)",
            f"rt.scatter_nd({near}[:, None], rt.gather({x}, {near}), {list(a.shape)})",
            f"rt.linalg.diag({x})" if a.ndim == 1 and n < 20 else f"rt.gather_nd({x}, {near}[:, None])"])

    def joined(self) -> str | None:
        x = self.pick(lambda a: a.ndim > 0)
        if x is None:
            return None
        a, r = self.number(x), self.r
        axis = r.randrange(a.ndim)
        y = self.pick(lambda b: b.dtype == a.dtype and b.shape == a.shape)
        return r.choice([f"rt.concat([{x}, {y}], {axis})", f"rt.stack([{x}, {y}, {x}], {axis})",
                         f"rt.concat([{x}, {y}, {x}], {axis})", f"rt.split({x}, 2, {axis})[1]",
                         f"rt.unstack({x}, axis={axis})[0]", f"rt.stack([{x}, {y}])"])

    def window(self) -> str | None:
        x = self.pick(lambda a: a.ndim in (1, 2) and a.dtype.kind == "f")
        if x is None:
            return None
        r, a = self.r, self.number(x)
        if a.ndim == 1:
            w = f"{x}[:3]"
            return r.choice([f"rt.nn.conv1d({x}[None, :, None], rt.reshape({w}, [-1, 1, 1]), 1, 'SAME')[0, :, 0]",
                             f"rt.nn.max_pool1d({x}[None, :, None], 3, 2, 'SAME')[0, :, 0]",
                             f"rt.nn.avg_pool1d({x}[None, :, None], 2, 1, 'VALID')[0, :, 0]"])
        w = f"{x}[:2, :2, None, None]"
        return r.choice([f"rt.nn.conv2d({x}[None, :, :, None], {w}, 1, 'SAME')[0, :, :, 0]",
                         f"rt.nn.max_pool2d({x}[None, :, :, None], 2, 1, 'VALID')[0, :, :, 0]"])

    def system(self) -> str | None:
        x = self.pick(lambda a: a.ndim == 2 and a.dtype.kind == "f" and a.itemsize > 2 and a.shape[0] == a.shape[1])
        return None if x is None else self.r.choice([f"rt.linalg.det({x})", f"rt.linalg.trace({x})",
                                                     f"rt.linalg.band_part({x}, 1, 0)"])

    # Statements.

    def straight(self) -> None:
        for _ in range(12):
            if self.assign(self.expression()):
                return

    def state(self, most: int = 3) -> list[str]:
        """Variables for a loop to change: copies of what there is."""
        found = []
        for _ in range(self.r.randint(1, most)):
            x = self.pick(lambda a: a.dtype.kind in "fiuc" and a.size <= 600)
            if x is None:
                break
            a = self.number(x)
            start = x if a.ndim == 0 or self.r.random() < 0.6 else f"{x}[{', '.join(['0'] * a.ndim)}]"
            name = self.assign(start, self.name("h"))
            if name:
                found.append(name)
        if not found:
            name = self.assign("rt.constant(0.5)", self.name("h"))
            assert name
            found.append(name)
        if self.r.random() < 0.3:
            name = self.name("p")
            self.write(f"{name} = {self.r.choice(['0.0', '1.0', '0', '1'])}")
            self.values[name] = rt.constant(0.25)  # Python's number
            self.pythons.append(name)
            found.append(name)
        return found

    pythons: list[str] = []

    def update(self, state: Sequence[str]) -> None:
        """A variable of the state gets another value of its dtype and shape."""
        r = self.r
        for _ in range(20):
            h = r.choice(state)
            old = self.number(h)
            if h in self.pythons:
                x = self.pick(lambda a: a.shape == () and a.dtype.kind in "fi")
                text = r.choice([f"{h} * 0.5 + 1.0", f"{h} + 0.1", f"{h} - {h} * {h} * 0.25", f"{h} + {x}",
                                 f"{h} * {x}"])
                self.write(f"{h} = {text}")
                return
            part = self.expression()
            if part is None:
                continue
            found = self.value(part)
            if found is None:
                continue
            a = found._array
            if a.dtype != old.dtype:
                if old.dtype.kind == "b" or a.dtype.kind == "c":
                    continue
                part = f"rt.cast({part}, rt.{old.dtype.name})"
            if a.shape != old.shape:
                if a.size == 0 and old.shape == ():
                    continue
                if old.shape == () and r.random() < 0.7:
                    part = f"rt.reduce_sum({part})" if r.random() < 0.4 else f"({part})[{', '.join(['-1'] * a.ndim)}]"
            forms = [f"{part}", f"{h} + {part}", f"{h} * {part}", f"{h} - {part}"]
            if old.dtype.kind == "f":
                forms += [f"0.9 * {h} + 0.1 * ({part})", f"rt.tanh({h} + {part})", f"{h} * 0.5 + {part}",
                          f"rt.maximum({h}, {part})", f"rt.where({h} > 1, {h} * 0.5, {h} + {part})",
                          f"{h} / (1 + rt.abs({part}))", f"rt.sin({h}) * ({part})"]
            elif old.dtype.kind != "c":
                forms += [f"rt.maximum({h}, {part})", f"({h} * 3 + {part}) % 101"]
            text = r.choice(forms)
            new = self.value(text)
            if new is not None and new._array.dtype == old.dtype and new._array.shape == old.shape and len(text) < 160:
                self.write(f"{h} = {text}")
                return

    def body(self, state: Sequence[str], after: Callable[[], None] | None = None) -> None:
        """Statements under the last line, in which new names are new."""
        r = self.r
        kept = dict(self.values)
        self.depth += 1
        self.loops += 1
        for _ in range(r.randint(0, 2)):
            self.straight()
        start = len(self.lines)
        for _ in range(r.randint(1, 2)):
            self.update(state)
        if r.random() < 0.35:
            self.branch(state)
        if self.loops < 3 and r.random() < 0.2:
            self.loop(state)
        if r.random() < 0.25:
            self.item(state)
        if after is not None:
            after()
        if len(self.lines) == start:
            self.write("pass")
        self.loops -= 1
        self.depth -= 1
        self.values = kept

    def item(self, state: Sequence[str]) -> None:
        r = self.r
        arrays = [h for h in state if h not in self.pythons and self.number(h).ndim and 0 not in self.number(h).shape]
        if not arrays:
            return
        h = r.choice(arrays)
        for _ in range(6):
            where = self.index(self.number(h).shape)
            place = self.value(f"{h}[{where}]")
            part = self.expression()
            found = None if part is None else self.value(part)
            if place is None or found is None:
                continue
            old, new = place._array, found._array
            if old.dtype != new.dtype and new.dtype.kind != "c" and old.dtype.kind != "b":
                part = f"rt.cast({part}, rt.{old.dtype.name})"
            elif old.dtype != new.dtype:
                continue
            if _broadcast(old.shape, new.shape) and np.broadcast_shapes(old.shape, new.shape) == old.shape:
                self.write(f"{h}[{where}] {r.choice(['=', '=', '+=', '*='])} {part}")
                return

    def test(self) -> str | None:
        r = self.r
        x = self.pick(lambda a: a.dtype.kind in "fiu")
        if x is None:
            return None
        a = self.number(x)
        numbers = NUMBERS[:8] if a.dtype.kind == "f" else NUMBERS[4:7]
        compared = f"{x} {r.choice(['<', '>', '<=', '!='])} {r.choice(numbers)}"
        return compared if a.ndim == 0 else f"rt.{r.choice(['reduce_any', 'reduce_all'])}({compared})"

    def branch(self, state: Sequence[str]) -> None:
        test = self.test()
        if test is None or self.value(test) is None:
            return
        self.write(f"if {test}:")
        kept = dict(self.values)
        self.depth += 1
        self.update(state)
        self.depth -= 1
        self.values = kept
        if self.lines[-1].endswith(":"):
            self.lines.pop()
            return
        if self.r.random() < 0.6:
            self.write("else:")
            self.depth += 1
            self.update(state)
            self.depth -= 1
            self.values = kept
            if self.lines[-1].endswith("else:"):
                self.lines.pop()

    def loop(self, state: Sequence[str] | None = None) -> None:
        r = self.r
        own = state is None
        if state is None:
            state = self.state()
        steps = r.choice([0, 1, 2, 3, 7, 16, 17, 33, 64] if own else [0, 1, 2, 3, 5])
        kind = r.random()
        if kind < 0.4:
            self.rows(state, own)
        elif kind < 0.75:
            i = self.name("i")
            self.write(f"for {i} in rt.range({steps}):")
            kept = dict(self.values)
            self.values[i] = rt.constant(1)
            self.body(state)
            self.values = kept
        else:
            k = self.name("k")
            test = self.test()
            if test is None or self.value(test) is None:
                test = "True"
            self.write(f"{k} = rt.constant(0)" if r.random() < 0.5 else f"{k} = 0")
            self.write(f"while {test} and {k} < {min(steps, 40)}:")
            kept = dict(self.values)
            self.values[k] = rt.constant(1)
            self.body([*state], lambda: self.write(f"{k} += 1"))
            self.values = kept

    def rows(self, state: Sequence[str], own: bool) -> None:
        """A loop over the rows of an array, that may keep what it finds in each in a list."""
        r = self.r
        x = self.pick(lambda a: a.ndim > 0 and a.shape[0] <= (300 if own else 8))
        if x is None:
            return
        a = self.number(x)
        item, out = self.name("x"), self.name("out")
        first = EagerTensor(a[0]) if len(a) else EagerTensor(np.zeros(a.shape[1:], a.dtype))
        listed = [h for h in state if h not in self.pythons]
        kept = r.choice(listed) if own and listed and r.random() < 0.4 and a.shape[0] else None
        if kept:
            self.write(f"{out} = []")
        if r.random() < 0.2 and a.shape[0]:
            i = self.name("i")
            self.write(f"for {i} in range(len({x})):")
            self.write(f"    {item} = {x}[{i}]")
        else:
            self.write(f"for {item} in {x}:")
        before = dict(self.values)
        self.values[item] = first
        self.body(state, (lambda: self.write(f"{out}.append({kept})")) if kept else None)
        self.values = before
        if kept:
            old = self.number(kept)
            if old.size * a.shape[0] <= MOST:
                name = self.name()
                self.write(f"{name} = rt.stack({out})")
                self.values[name] = EagerTensor(np.broadcast_to(old, (a.shape[0], *old.shape)))

    def program(self) -> NumericProgram:
        r = self.r
        self.pythons = []
        arguments = self.arguments()
        for name, argument in arguments.items():
            self.values[name] = EagerTensor(argument.array())
        for _ in range(r.randint(1, 3)):
            self.straight()
        for _ in range(r.choices((0, 1, 2), (4, 5, 1))[0]):
            self.loop()
            if r.random() < 0.5:
                self.straight()
        if r.random() < 0.2:
            self.branch(self.state(2))
        if r.random() < 0.15:
            self.item(self.state(1))
        if r.random() < 0.4:
            self.straight()
        made = [k for k in self.values if k not in arguments]
        results = r.sample(made, min(len(made), 4)) if made else list(arguments)
        last = [k for k in made[-2:] if k not in results]
        text = f"def program({', '.join(arguments)}):\n" + "\n".join(self.lines)
        return NumericProgram(f"{text}\n    return {', '.join([*results, *last])},\n", arguments, r.random() < 0.25)

    def arguments(self) -> dict[str, Argument]:
        r = self.r
        size, other = r.choice(SIZES), r.choice(SIZES[:9])
        main = r.choice(("float32", "float32", "float64", "float16", "int32", "complex64", r.choice(DTYPES)))
        shapes = [(size,), (size,), (), (other, min(size, 31)), (other,), (min(size, 31), min(size, 31)),
                  (r.choice(SIZES[:7]), other, 3)]
        found = {}
        for k in range(r.randint(1, 3)):
            dtype = main if r.random() < 0.75 else r.choice((*FLOATS, *INTS, *DTYPES))
            found["abc"[k]] = random_argument(r, dtype, r.choice(shapes))
        return found


def _broadcast(a: Sequence[int], b: Sequence[int]) -> bool:
    return all(x == y or 1 in (x, y) for x, y in zip(reversed(a), reversed(b)))
