"""LLVM IR as text: modules, functions and instructions.

A `Val` is an LLVM value: its type and its name or literal. Types are LLVM's own text: `i1 i8 i16 i32 i64 half float
double ptr`, and vectors `<16 x float>`. All instructions work lane by lane on vectors, so a function of scalars,
written once, serves both. Text is several times cheaper to make than llvmlite's objects.

`Module` holds functions, `Builder` writes one. Index arithmetic folds operands that are Python ints.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from runtime.backends.native.llvm.outlining import ACCESSES, outlined
from runtime.backends.native.llvm.values import (
    Index,
    Val,
    bits_of,
    const,
    element,
    int_like,
    is_float,
    lanes,
    like,
)

__all__ = [
    "ACCESSES", "BY_ITEMS", "PARALLEL", "Builder", "Index", "Module", "Val", "bits_of", "const", "element", "int_like",
    "is_float", "lanes", "like",
]


PARALLEL: Final = "llvm.loop.parallel_accesses"
BY_ITEMS: Final = "; loops take items of arrays"
_FEW: Final = 8  # iterations


def _is_short(start: Index, stop: Index, step: int) -> bool:
    """Whether LLVM may unroll a loop: if it has few iterations. Other loops are already written for the machine's
    registers, and unrolling them would take longer than all other compilation."""
    return isinstance(start, int) and isinstance(stop, int) and stop - start <= _FEW * step


class Module:
    """Functions and their declarations. `define` writes a function only once."""

    def __init__(self, fma: bool = True, vector_bits: int = 512) -> None:
        self.parts: list[str] = []
        self.declared: dict[str, str] = {}
        self.defined: set[str] = set()
        self.fma = fma  # whether the target has fused multiply-add
        self.vector_bits = vector_bits  # width of the target's widest registers
        self.metadata: list[str] = []
        self.weights: dict[tuple[int, int], str] = {}
        self.globals: dict[str, str] = {}
        self.outlined: dict[Hashable, str] = {}  # names of functions made from loops, by the loop's normal form
        self.by_items = False  # whether loops read or set items of arrays one by one

    def declare(self, name: str, result: str, *types: str, attributes: str = "") -> None:
        """Declare an external function."""
        self.declared[name] = f"declare {result} @{name}({', '.join(types)}){attributes and ' ' + attributes}"

    def define(
        self, name: str, result: str, types: Sequence[str], write: Callable[..., Val | None],
        attributes: str = "alwaysinline nounwind", linkage: str = "internal",
    ) -> str:
        """Define the function `name`; `write(builder, *arguments)` writes its body and returns its result."""
        if name not in self.defined:
            self.defined.add(name)
            b = Builder(self)
            args = [Val(ty, f"%a{i}") for i, ty in enumerate(types)]
            value = write(b, *args)
            if not b.done:
                b.line("ret void" if value is None else f"ret {value}")
            self.parts.append(b.function(f"{linkage} {result} @{name}({', '.join(map(str, args))}) {attributes}"))
        return name

    def access_group(self) -> str:
        """Metadata for the memory accesses of a new parallel loop."""
        self.metadata.append(f"!{len(self.metadata)} = distinct !{{}}")
        return f", {ACCESSES} !{len(self.metadata) - 1}"

    def back_edge(self, group: str = "", unroll: bool = True, at_runtime: bool = True, vectorize: bool = True,
                  times: int = 0) -> str:
        """Metadata for a back edge: whether the accesses of `group` are parallel, whether LLVM may unroll the loop (at
        all, and if the trip count is unknown) and vectorise it, and how often it has to unroll it (0: as it likes)."""
        properties = [f'!"{PARALLEL}", {group.rpartition(" ")[2]}'] * bool(group)
        properties += ['!"llvm.loop.unroll.disable"'] * (not unroll)
        properties += ['!"llvm.loop.unroll.runtime.disable"'] * (not at_runtime)
        properties += ['!"llvm.loop.vectorize.enable", i1 false'] * (not vectorize)
        properties += [f'!"llvm.loop.unroll.count", i32 {times}'] * bool(times)
        k, last = len(self.metadata), len(self.metadata) + len(properties)
        if k == last:
            return ""
        self.metadata += [f"!{i} = !{{{text}}}" for i, text in enumerate(properties, k)]
        self.metadata.append(f"!{last} = distinct !{{{', '.join(f'!{i}' for i in (last, *range(k, last)))}}}")
        return f", !llvm.loop !{last}"

    def unlikely(self, yes: bool = True) -> str:
        """Metadata for a branch of which one side, the first or (if not `yes`) the second, is hardly ever taken."""
        weights = (1, 1 << 20) if yes else (1 << 20, 1)
        if weights not in self.weights:
            self.weights[weights] = f", !prof !{len(self.metadata)}"
            self.metadata.append(f'!{len(self.metadata)} = !{{!"branch_weights", i32 {weights[0]}, i32 {weights[1]}}}')
        return self.weights[weights]

    def text(self) -> str:
        known = [f"@{name} = {what}" for name, what in self.globals.items()]
        parts = [*known, *self.declared.values(), *self.parts, *self.metadata, ""]
        return "\n".join([BY_ITEMS, *parts] if self.by_items else parts)


class Builder:
    """Writes one function, block by block. `done`: the current block is terminated."""

    def __init__(self, module: Module, flags: str = "", prefix: str = "") -> None:
        self.module = module
        self.prefix = prefix  # prefix of the names of values
        self.types: dict[str, str] = {}  # types of values, by name
        self.flags = flags + " " if flags else ""  # of floating-point arithmetic, such as "fast"
        self.entry: list[str] = []  # allocas
        self.group = ""  # metadata for memory accesses in a loop with independent iterations
        self.fixed: set[str] = set()  # sizes defined in the entry block; what is computed of them is, too
        self._computed: dict[str, Val] = {}  # the latter, by instruction
        self.extended: dict[str, Val] = {}  # by name, the i64 of which a signed integer is the lower part
        self.disjunctions: dict[str, tuple[Val, Val]] = {}  # the operands of each `or` of truth values, by name
        self.unwritten: set[str] = set()  # the addresses of arrays that nothing writes while the function runs
        self.lines: list[str] = []
        self.block = "entry"
        self.done = False
        self.count = 0
        self.credit: Val | None = None  # the address of the credit that counts down to the next poll for signals
        self.look: Callable[[Index], None] | None = None  # writes a poll for signals, given the work since the last one

    # Text.

    def function(self, header: str) -> str:
        entry, lines, parts = outlined(self.entry, self.lines, self.types, self.module.metadata, self.module.outlined)
        self.module.parts += parts
        return "\n".join([f"define {header} {{", "entry:", *entry, *lines, "}"])

    def line(self, text: str) -> None:
        """Write an instruction without result."""
        if not self.done:
            self.lines.append("  " + text)
            if text.startswith(("ret ", "ret\n", "br ", "switch ", "unreachable")) or text == "ret void":
                self.done = True

    def op(self, ty: str, text: str) -> Val:
        """Write an instruction with a result of type `ty`."""
        self.count += 1
        name = f"%{self.prefix}v{self.count}"
        self.types[name] = ty
        if not self.done:
            self.lines.append(f"  {name} = {text}")
        return Val(ty, name)

    def label(self, hint: str = "b") -> str:
        """A name for a later block."""
        self.count += 1
        return f"{hint}{self.count}"

    def start(self, label: str) -> None:
        """Start a new block, to which the current one falls through."""
        if not self.done:
            self.lines.append(f"  br label %{label}")
        self.lines.append(f"{label}:")
        self.block = label
        self.done = False

    def jump(self, label: str) -> None:
        self.line(f"br label %{label}")

    def branch(self, condition: Val, yes: str, no: str, mark: str = "") -> None:
        self.line(f"br {condition}, label %{yes}, label %{no}{mark}")

    def phi(self, ty: str, *incoming: tuple[Val, str]) -> Val:
        pairs = ", ".join(f"[ {value.ref}, %{block} ]" for value, block in incoming)
        return self.op(ty, f"phi {ty} {pairs}")

    def open_phi(self, ty: str, first: Val, block: str) -> tuple[Val, Callable[[Val, str], None]]:
        """A phi at a loop header, and the function that adds the latch's incoming value."""
        value = self.phi(ty, (first, block))
        place = len(self.lines) - 1

        def close(last: Val, end: str) -> None:
            self.lines[place] += f", [ {last.ref}, %{end} ]"

        return value, close

    def alloca(self, ty: str, count: int = 1, align: int = 8) -> Val:
        """Stack memory for the whole call."""
        self.count += 1
        name = f"%{self.prefix}s{self.count}"
        self.types[name] = "ptr"
        self.entry.append(f"  {name} = alloca {ty}, i64 {count}, align {align}")
        return Val("ptr", name)

    def cell(self, value: Val | None) -> Val:
        """Stack memory initialised with a value; null for None."""
        if value is None:
            return Val("ptr", "null")
        place = self.alloca(value.ty)
        self.store(value, place)
        return place

    def at_entry(self, ty: str, text: str) -> Val:
        """Write an instruction to the entry block, so that its result dominates all uses."""
        self.count += 1
        name = f"%{self.prefix}v{self.count}"
        self.types[name] = ty
        self.entry.append(f"  {name} = {text}")
        return Val(ty, name)

    def of_sizes(self, ty: str, text: str, *operands: Index) -> Val:
        """Write an instruction without effect: to the entry block, once, if all operands are fixed."""
        if not self.fixed or not all([isinstance(x, int) or x.ref in self.fixed or x.ref.isdigit() for x in operands]):
            return self.op(ty, text)
        found = self._computed.get(text)
        if found is None:
            found = self._computed[text] = self.at_entry(ty, text)
            self.fixed.add(found.ref)
        return found

    # Constants and memory.

    const = staticmethod(const)

    def load(self, ty: str, pointer: Val, align: int | None = None, mark: str = "") -> Val:
        """Load a value; i1 is a byte in memory. `mark`: metadata."""
        if element(ty) == "i1":
            byte = like(ty, "i8")
            return self.op(ty, f"trunc {self.op(byte, f'load {byte}, {pointer}, align 1{self.group}{mark}')} to {ty}")
        if element(ty) == "i128":  # two floats: in the layout of memory and of registers
            pair = f"<{2 * lanes(ty)} x double>"
            return self.op(ty, f"bitcast {self.op(pair, f'load {pair}, {pointer}, align 8{self.group}')} to {ty}")
        if ty != "ptr":
            align = align or bits_of(ty) // 8
        return self.op(ty, f"load {ty}, {pointer}, align {align or 8}{self.group}{mark}")

    def store(self, value: Val, pointer: Val, align: int | None = None) -> None:
        if element(value.ty) == "i1":
            value = self.op(like(value.ty, "i8"), f"zext {value} to {like(value.ty, 'i8')}")
        if element(value.ty) == "i128":
            value, align = self.bitcast(value, f"<{2 * lanes(value.ty)} x double>"), 8
        if value.ty != "ptr":
            align = align or max(bits_of(value.ty) // 8, 1)
        self.line(f"store {value}, {pointer}, align {align or 8}{self.group}")

    def offset(self, pointer: Val, index: Index, ty: str) -> Val:
        """The address of element `index` of an array of `ty`."""
        if isinstance(index, int) and index == 0:
            return pointer
        kind = "i8" if ty == "i1" else ty
        return self.op("ptr", f"getelementptr {kind}, {pointer}, {self.i64(index)}")

    def call(self, result: str, name: str, *args: Val) -> Val:
        """Call a function of the module, declared or defined, or an intrinsic."""
        if name.startswith("llvm."):
            self.module.declare(name, result, *[arg.ty for arg in args])
        return self.call_pointer(result, Val("ptr", f"@{name}"), *args)

    def call_pointer(self, result: str, function: Val, *args: Val) -> Val:
        text = f"call {result} {function.ref}({', '.join(map(str, args))})"
        if result == "void":
            self.line(text)
            return Val("void", "")
        return self.op(result, text)

    def hidden(self, x: Val) -> Val:
        """The same integer or address, with its origin hidden from LLVM. Otherwise the lengths of a list that grows in
        one loop after another become one expression, for which loop strength reduction takes minutes with 80 such
        loops. And SROA of LLVM 22 uses elements of an array of vectors before they are computed, if stored from last to
        first."""
        return self.op(x.ty, f'call {x.ty} asm "", "=r,0"({x})')

    # Arithmetic on values of one type, lane by lane.

    def _binary(self, name: str, x: Val, y: Val) -> Val:
        return self.op(x.ty, f"{name} {x}, {y.ref}")

    def add(self, x: Val, y: Val) -> Val:
        return self._binary("add", x, y)

    def sub(self, x: Val, y: Val) -> Val:
        return self._binary("sub", x, y)

    def mul(self, x: Val, y: Val) -> Val:
        return self._binary("mul", x, y)

    def sdiv(self, x: Val, y: Val) -> Val:
        return self._binary("sdiv", x, y)

    def udiv(self, x: Val, y: Val) -> Val:
        return self._binary("udiv", x, y)

    def srem(self, x: Val, y: Val) -> Val:
        return self._binary("srem", x, y)

    def urem(self, x: Val, y: Val) -> Val:
        return self._binary("urem", x, y)

    def and_(self, x: Val, y: Val) -> Val:
        return self._binary("and", x, y)

    def or_(self, x: Val, y: Val) -> Val:
        made = self._binary("or", x, y)
        if made.ty == "i1":
            self.disjunctions[made.ref] = x, y
        return made

    def xor(self, x: Val, y: Val) -> Val:
        return self._binary("xor", x, y)

    def shl(self, x: Val, y: Val) -> Val:
        return self._binary("shl", x, y)

    def lshr(self, x: Val, y: Val) -> Val:
        return self._binary("lshr", x, y)

    def ashr(self, x: Val, y: Val) -> Val:
        return self._binary("ashr", x, y)

    def not_(self, x: Val) -> Val:
        return self._binary("xor", x, const(x.ty, -1 if element(x.ty) != "i1" else 1))

    def fadd(self, x: Val, y: Val) -> Val:
        return self._binary(f"fadd {self.flags}", x, y)

    def fsub(self, x: Val, y: Val) -> Val:
        return self._binary(f"fsub {self.flags}", x, y)

    def fmul(self, x: Val, y: Val) -> Val:
        return self._binary(f"fmul {self.flags}", x, y)

    def fdiv(self, x: Val, y: Val) -> Val:
        return self._binary(f"fdiv {self.flags}", x, y)

    def fneg(self, x: Val) -> Val:
        return self.op(x.ty, f"fneg {x}")

    def fma(self, x: Val, y: Val, z: Val) -> Val:
        """x * y + z: fused where the target supports it, else rounded twice."""
        if not self.module.fma:
            return self.op(x.ty, f"fadd {self.op(x.ty, f'fmul {x}, {y.ref}')}, {z.ref}")
        return self.intrinsic("fma", x, y, z)

    def intrinsic(self, name: str, *args: Val, suffix: str | None = None) -> Val:
        """Call `llvm.name`, overloaded on the first operand's type: sqrt, fabs, floor, ceil, rint, copysign, ..."""
        ty, full = args[0].ty, f"llvm.{name}.{suffix or _mangled(args[0].ty)}"
        if name not in _OF_SIZES or ty != "i64":
            return self.call(ty, full, *args)
        self.module.declare(full, ty, *[arg.ty for arg in args])
        return self.of_sizes(ty, f"call {ty} @{full}({', '.join(map(str, args))})", *args)

    def icmp(self, relation: str, x: Val, y: Val) -> Val:
        """`relation`: eq ne slt sle sgt sge ult ule ugt uge."""
        return self.op(like(x.ty, "i1"), f"icmp {relation} {x}, {y.ref}")

    def fcmp(self, relation: str, x: Val, y: Val) -> Val:
        """`relation`: oeq une olt ole ogt oge ult ule ugt uge uno ord."""
        return self.op(like(x.ty, "i1"), f"fcmp {relation} {x}, {y.ref}")

    def select(self, condition: Val, x: Val, y: Val) -> Val:
        return self.op(x.ty, f"select {condition}, {x}, {y}")

    def convert(self, how: str, x: Val, ty: str) -> Val:
        """`how`: trunc zext sext fptrunc fpext fptosi fptoui sitofp uitofp bitcast; `ty`: of a lane, or of all."""
        ty = ty if ty[0] == "<" or ty == "ptr" else like(x.ty, ty)
        if how == "sext" and x.ref.lstrip("-").isdigit():
            return const(ty, int(x.ref))
        return x if ty == x.ty else self.op(ty, f"{how} {x} to {ty}")

    def extend(self, x: Val, unsigned: bool) -> Val:
        """An integer as an i64, lane by lane."""
        return self.extended.get(x.ref) or self.convert("zext" if unsigned else "sext", x, "i64")

    def bitcast(self, x: Val, ty: str) -> Val:
        return self.convert("bitcast", x, ty)

    def splat(self, x: Val, count: int) -> Val:
        """A vector with `x` in each lane."""
        ty = x.ty if count == 1 else f"<{count} x {x.ty}>"
        if count == 1 or x.ref[0] not in "%@":
            return Val(ty, x.ref if count == 1 else f"splat ({x})")
        one = self.op(ty, f"insertelement {ty} poison, {x}, i64 0")
        return self.op(ty, f"shufflevector {one}, {ty} poison, <{count} x i32> zeroinitializer")

    # Index arithmetic: ints are folded.

    def i64(self, index: Index) -> Val:
        return Val("i64", str(index)) if isinstance(index, int) else index

    def iadd(self, x: Index, y: Index) -> Index:
        if isinstance(x, int) and isinstance(y, int):
            return x + y
        if isinstance(x, int) and x == 0:
            return y
        if isinstance(y, int) and y == 0:
            return x
        return self.of_sizes("i64", f"add nsw {self.i64(x)}, {self.i64(y).ref}", x, y)

    def isub(self, x: Index, y: Index) -> Index:
        if isinstance(x, int) and isinstance(y, int):
            return x - y
        if isinstance(y, int) and y == 0:
            return x
        return self.of_sizes("i64", f"sub nsw {self.i64(x)}, {self.i64(y).ref}", x, y)

    def imul(self, x: Index, y: Index) -> Index:
        if isinstance(x, int) and isinstance(y, int):
            return x * y
        for a, other in ((x, y), (y, x)):
            if isinstance(a, int) and a in (0, 1):
                return other if a else 0
        return self.of_sizes("i64", f"mul nsw {self.i64(x)}, {self.i64(y).ref}", x, y)

    def idiv(self, x: Index, y: Index) -> Index:
        """The quotient of non-negative sizes."""
        if isinstance(x, int) and isinstance(y, int):
            return x // y
        if isinstance(y, int) and y == 1:
            return x
        return self.op("i64", f"udiv {self.i64(x)}, {self.i64(y).ref}")

    def imod(self, x: Index, y: Index) -> Index:
        if isinstance(x, int) and isinstance(y, int):
            return x % y
        return self.op("i64", f"urem {self.i64(x)}, {self.i64(y).ref}")

    def product(self, sizes: Sequence[Index]) -> Index:
        result: Index = 1
        for size in sizes:
            result = self.imul(result, size)
        return result

    def room(self, sizes: Sequence[Index], each: int) -> Index:
        """The product of sizes and the bytes per element, for an allocation; saturates at 2**63 - 1, for which
        allocations always fail."""
        known = min(math.prod([size for size in sizes if isinstance(size, int)], start=each), (1 << 63) - 1)
        result: Index = known
        for size in sizes:
            if isinstance(size, Val):
                result = self.intrinsic("smul.fix.sat", self.i64(result), size, const("i32", 0))
        return result

    def fits(self, sizes: Sequence[Index], each: int, most: int) -> Val:
        """Whether the product of `sizes`, with 0 replaced by 1, and of `each` is at most `most`, which is below 2**53.
        Each size must be between 0 and `most`."""
        known = math.prod([max(size, 1) for size in sizes if isinstance(size, int)], start=each)
        open_ = [size for size in sizes if isinstance(size, Val)]
        if not open_ or known > most:
            return const("i1", int(known <= most))
        if len(open_) == 1:
            return self.icmp("ule", open_[0], const("i64", most // known))
        product = const("double", known)
        for size in open_:  # rounding never crosses `most`
            factor = self.convert("uitofp", self.intrinsic("umax", size, const("i64", 1)), "double")
            product = self.op("double", f"fmul {product}, {factor.ref}")
        return self.fcmp("ole", product, const("double", most))

    # Structure.

    @contextmanager
    def loop(self, start: Index, stop: Index, step: int = 1, parallel: bool = False) -> Iterator[Val]:
        """`for i in range(start, stop, step)`: yields i, an i64; step > 0. `parallel`: no iteration accesses memory
        that another one writes, which LLVM then need not prove."""
        if isinstance(start, int) and isinstance(stop, int) and 0 < stop - start <= step:
            yield self.i64(start)
            return
        body, after = self.label("do"), self.label("end")
        group = self.group
        self.group = self.module.access_group() if parallel else group
        mark = self.module.back_edge(self.group if parallel else "", _is_short(start, stop, step))
        first, last = self.i64(start), self.i64(stop)
        before = self._enter(start, stop, body, after)
        index, close = self.open_phi("i64", first, before)
        yield index
        following = self.op("i64", f"add nuw nsw {index}, {step}")
        close(following, self.block)
        again = self.op("i1", f"icmp slt {following}, {last.ref}")
        self.line(f"br {again}, label %{body}, label %{after}{mark}")
        self.group = group
        self.start(after)

    def folded(
        self, start: Index, stop: Index, first: Sequence[Val], step: Callable[[Val, Sequence[Val]], Sequence[Val]],
        by: int = 1, unroll: bool = True,
    ) -> list[Val]:
        """`for i in range(start, stop, by): values = step(i, values)`, from `first`; returns the last values."""
        if isinstance(start, int) and isinstance(stop, int) and stop - start <= by:
            return list(step(self.i64(start), first) if start < stop else first)
        body, after = self.label("do"), self.label("end")
        lower, upper = self.i64(start), self.i64(stop)
        before = self._enter(start, stop, body, after)
        index, close = self.open_phi("i64", lower, before)
        phis = [self.open_phi(value.ty, value, before) for value in first]
        values = list(step(index, [value for value, _ in phis]))
        following = self.op("i64", f"add nuw nsw {index}, {by}")
        end = self.block
        close(following, end)
        for (_, close_value), value in zip(phis, values, strict=True):
            close_value(value, end)
        again = self.op("i1", f"icmp slt {following}, {upper.ref}")
        mark = self.module.back_edge(unroll=unroll and _is_short(start, stop, by))
        self.line(f"br {again}, label %{body}, label %{after}{mark}")
        self.start(after)
        if isinstance(start, int) and isinstance(stop, int):  # at least one iteration runs
            return values
        return [self.phi(value.ty, (one, before), (value, end)) for one, value in zip(first, values, strict=True)]

    def _enter(self, start: Index, stop: Index, body: str, after: str) -> str:
        """Begin the body of a loop, guarded against zero iterations; returns the preheader block."""
        before = self.block
        if not (isinstance(start, int) and isinstance(stop, int) and start < stop):
            enter = self.op("i1", f"icmp slt {self.i64(start)}, {self.i64(stop).ref}")
            self.branch(enter, body, after)
        self.start(body)
        return before

    def either(
        self, condition: Val, yes: Callable[[], Sequence[Val]], no: Callable[[], Sequence[Val]], mark: str = ""
    ) -> list[Val]:
        """`yes() if condition else no()`: values of the same types. A branch may leave the function."""
        left, right, after = self.label("then"), self.label("else"), self.label("join")
        self.branch(condition, left, right, mark)
        ends = []
        for label, branch in ((left, yes), (right, no)):
            self.start(label)
            values = branch()
            if not self.done:
                ends.append((values, self.block))
                self.jump(after)
        self.lines.append(f"{after}:")
        self.block, self.done = after, False
        if not ends:
            self.line("unreachable")
            return []
        if len(ends) == 1:
            return list(ends[0][0])
        return [self.phi(a.ty, (a, ends[0][1]), (c, ends[1][1])) for a, c in zip(ends[0][0], ends[1][0], strict=True)]

    @contextmanager
    def when(self, condition: Val, mark: str = "") -> Iterator[None]:
        """`if condition:`"""
        inside, after = self.label("then"), self.label("join")
        self.branch(condition, inside, after, mark)
        self.start(inside)
        yield
        self.start(after)


_OF_SIZES: Final = frozenset(("smax", "smin", "smul.fix.sat", "umax", "umin"))
_CODES: Final = {"half": "f16", "float": "f32", "double": "f64"}


def _mangled(ty: str) -> str:
    kind = element(ty)
    code = _CODES.get(kind, kind)
    return f"v{lanes(ty)}{code}" if ty[0] == "<" else code
