"""Functions with a rare, slow case, and how loops over them stay fast.

If such a function were inlined, the loop vectoriser would turn its branch into selects, and the rare case would always
be computed. So the function is not inlined, and its calls name vector variants (LLVM's vector-function-abi-variant),
which branch to the rare case only if some lane needs it, and call that lane by lane.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from runtime.backends.native.libm.expressions import Num
from runtime.backends.native.llvm.builder import Builder, Val, bits_of, element, lanes

__all__ = ["any_lane", "called", "lane_by_lane", "symbol"]

_PURE: Final = "noinline nounwind willreturn nosync nofree speculatable memory(none)"


def symbol(name: str, ty: str) -> str:
    """The name of the function `name` for operands of type `ty`."""
    count = lanes(ty)
    return f"{name}.{element(ty)}" + ("" if count == 1 else f"x{count}")


def called(b: Builder, name: str, write: Callable[..., Val], *xs: Val) -> Val:
    """A call of the function that `write` writes for one or several lanes."""
    ty = xs[0].ty
    function = symbol(name, ty)
    scalar = ty[0] != "<"
    # not internal: LLVM must not change its signature, which is also that of its variants
    b.module.define(function, ty, [ty] * len(xs), write, _PURE, linkage="linkonce_odr" if scalar else "")
    attribute = ""
    if scalar:
        whole = b.module.vector_bits // bits_of(ty)  # the lanes of a register, and of half of one for the remainder
        variants = []
        for count in (whole, whole // 2):
            wide = f"<{count} x {ty}>"
            # not internal: nothing calls it until loops are vectorised
            variant = b.module.define(symbol(name, wide), wide, [wide] * len(xs), write, _PURE, linkage="")
            variants.append(f"_ZGV_LLVM_N{count}{'v' * len(xs)}_{function}({variant})")
        attribute = f' "vector-function-abi-variant"="{",".join(variants)}"'
    return b.op(ty, f"call {ty} @{function}({', '.join(map(str, xs))}){attribute}")


def any_lane(condition: Num) -> Num:
    count = lanes(condition.ty)
    if count == 1:
        return condition
    return Num(condition.b, condition.b.call("i1", f"llvm.vector.reduce.or.v{count}i1", condition.v))


def lane_by_lane(name: str, write: Callable[..., Sequence[Num]], results: int, *xs: Num) -> list[Num]:
    """The `results` of a scalar function, which `write` writes, called for each lane."""
    b, ty, kind = xs[0].b, xs[0].ty, xs[0].kind

    def body(inner: Builder, *args: Val) -> None:
        values = write(*[Num(inner, arg) for arg in args[:len(xs)]])
        for value, place in zip(values, args[len(xs):], strict=True):
            inner.store(value.v, place)

    function = b.module.define(
        symbol(name, kind), "void", [kind] * len(xs) + ["ptr"] * results, body, "noinline cold nounwind willreturn")
    count = lanes(ty)
    places = [b.alloca(kind, count) for _ in range(results)]
    if count == 1:
        b.call("void", function, *[x.v for x in xs], *places)
    else:
        sources = [b.alloca(kind, count) for _ in xs]
        for source, x in zip(sources, xs, strict=True):
            b.store(x.v, source)
        with b.loop(0, count) as lane:
            b.call("void", function, *[b.load(kind, b.offset(source, lane, kind)) for source in sources],
                   *[b.offset(place, lane, kind) for place in places])
    return [Num(b, b.load(ty, place)) for place in places]
