"""Large matrix products on the runtime's threads, by code that is compiled once per process.

Matrices are cut into blocks. The columns of a block of the right matrix are packed first, in strips as wide as a vector
register: a strip has the elements of one row side by side, then those of the next row. A tile, whose accumulators all
stay in registers, is a few rows of the left matrix by two or three strips (Goto and van de Geijn, Anatomy of
High-Performance Matrix Multiplication, 2008). Rows are read in place, unless they are not contiguous, or a tile at the
bottom edge would read beyond the matrix: then they are packed, too.

Each sum accumulates the products of a block in order, then those of the next block. So it is independent of the tile,
the thread, and the number of threads. The block boundaries depend on the sizes only: blocks with few rows are deeper.

The strips of a right matrix of one block may also be kept, and multiplied by many left ones (`packed_operands.py`).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from runtime.backends.native.abi.thread_pool import divided
from runtime.backends.native.codegen.scalar_ops import llvm_type
from runtime.backends.native.llvm.builder import Builder, Index, Module, Val, const
from runtime.core.types import DType, float32, float64

__all__ = ["DEPTH", "FUNCTIONS", "PACKED_PRODUCT", "PACK_RIGHT", "PRODUCT", "SIDE", "Packed", "fills", "fits",
           "function_text"]

DEPTH: Final = 512  # products of a sum per block; twice as many if there is only one group of rows
SIDE: Final = 2048  # rows and columns of a block
_GROUP: Final = 96  # rows that stay in a core's cache while the tile moves over the columns
_VECTORS: Final = 3  # strips per tile, at most
_AT_ONCE: Final = 8  # elements copied per loop iteration
_TOGETHER: Final = 4  # strips that are packed side by side, since rows may be far apart
_STRIPS: Final = 512  # that a thread packs between two polls for signals, at most
_TILES: Final = 2  # groups of tiles per share of a thread: at the end the others wait up to 0.1 ms
_THREADS: Final = 1 << 20  # multiplications from which on several threads pay
_NONE: Final = Val("ptr", "null")


def fits(module: Module, dtype: DType) -> bool:
    """Whether this machine can run the code: it is x86-64 with AVX2 or AVX-512."""
    return dtype in (float32, float64) and module.fma and module.vector_bits >= 256


def fills(module: Module, dtype: DType, rows: int, columns: int, waste: float) -> bool:
    """Whether the tiles that cover a product exceed it by at most the factor `waste`: false for few rows or columns."""
    code = Packed(module, dtype, False, False)
    high, wide = (-(-size // by) * by for size, by in ((rows, code.rows), (columns, code.lanes)))
    return high * wide <= waste * rows * columns


def _has_groups(rows: Index) -> bool:
    """Whether there is statically more than one group of rows."""
    return isinstance(rows, int) and rows > _GROUP


def _least(b: Builder, x: Val, y: Val) -> Val:
    """The minimum; LLVM's `smin` takes longer to compile without optimisation."""
    return b.select(b.icmp("slt", x, y), x, y)


def _largest(b: Builder, x: Val, y: Val) -> Val:
    return b.select(b.icmp("sgt", x, y), x, y)


class _Block(NamedTuple):
    """The arguments that threads read from memory. The addresses of operands and result are those of the block."""

    x: Val
    x_step: Val
    y: Val
    y_step: Val
    out: Val
    line: Val  # of the result: the number of elements from one row to the next
    rows: Val
    size: Val  # number of products per sum
    columns: Val
    right: Val  # memory for the strips of columns
    left: Val  # memory for the strips of rows
    first: Val  # the number of the first packed strip of rows
    group: Val  # rows of the group of tiles that one thread computes at a time
    scale: Val  # address of the factor of sums that are added to the result; null: the result is overwritten

    def store(self, b: Builder) -> Val:
        words = b.alloca("i64", len(self))
        for k, value in enumerate(self):
            b.store(value, b.offset(words, k, "i64"))
        return words

    @classmethod
    def load(cls, b: Builder, words: Val) -> _Block:
        types = ["ptr", "i64", "ptr", "i64", "ptr", *["i64"] * 4, "ptr", "ptr", "i64", "i64", "ptr"]
        return cls(*[b.load(kind, b.offset(words, k, "i64")) for k, kind in enumerate(types)])


class Packed:
    """Writes products of one dtype with one layout of the matrices: row-major, or transposed (column-major)."""

    def __init__(self, module: Module, dtype: DType, x_turned: bool, y_turned: bool) -> None:
        self.module = module
        self.dtype = dtype
        self.ty = llvm_type(dtype)
        self.lanes = module.vector_bits // (8 * dtype.size)
        self.rows = 8 if module.vector_bits >= 512 else 4  # of a tile: there are 32 registers, or 16
        self.x_turned = x_turned
        self.y_turned = y_turned

    def room(self, b: Builder, rows: Index, inner: Index, columns: Index) -> Index:
        """The size of the memory that a product needs, in elements."""
        def least(size: Index, most: int) -> Index:
            return min(size, most) if isinstance(size, int) else _least(b, size, const("i64", most))

        lines = b.iadd(least(columns, SIDE), least(rows, SIDE) if self.x_turned else 0)
        return b.imul(b.iadd(lines, 3 * self.lanes), least(inner, DEPTH if _has_groups(rows) else 2 * DEPTH))

    def declare(self, part: str) -> str:
        """Declare a function and return its name: PRODUCT, `PACK_RIGHT` or `PACKED_PRODUCT`. `_write...` describe the
        arguments."""
        name = _name(part, self.dtype, self.x_turned, self.y_turned)
        self.module.declare(name, "i32", *_TYPES[part])
        return name

    def define(self, part: str) -> None:
        writes: dict[str, Callable[..., Val]] = {
            PRODUCT: self._write, PACK_RIGHT: self._write_packing, PACKED_PRODUCT: self._write_packed_product}
        name = _name(part, self.dtype, self.x_turned, self.y_turned)
        self.module.define(name, "i32", _TYPES[part], writes[part], "nounwind", linkage="")

    def _write(self, b: Builder, frame: Val, threads: Val, rows: Val, inner: Val, columns: Val, x: Val, x_step: Val,
               y: Val, y_step: Val, out: Val, memory: Val, scale: Val) -> Val:
        """Write the product function. It returns 0, or non-zero if a signal interrupted it; if `frame` is null, none
        are handled. `scale`: the address of a factor, to add that multiple to the result; null: overwrite the
        result."""
        ty, one, zero, side = self.ty, const("i64", 1), const("i64", 0), const("i64", SIDE)
        copies, tiles = self._phase("copies", self._copies), self._phase("tiles", self._tiles)
        small = b.icmp("slt", b.mul(b.mul(rows, inner), columns), const("i64", _THREADS))
        threads = b.select(small, one, threads)
        following = b.select(b.icmp("eq", scale, _NONE), b.cell(const(ty, 1)), scale)
        deepest = b.select(b.icmp("sgt", rows, const("i64", _GROUP)), const("i64", DEPTH), const("i64", 2 * DEPTH))
        count = _largest(b, b.udiv(b.add(inner, b.sub(deepest, one)), deepest), one)
        depth = b.udiv(b.add(inner, b.sub(count, one)), count)  # blocks of about equal size

        def run(name: str, words: Val, size: Val, step: int, most: int) -> None:
            status = divided(b, name, words, size, step, const("i64", most), threads, frame)
            with b.when(b.icmp("ne", status, const("i32", 0))):
                b.line(f"ret {status}")

        def at(pointer: Val, step: Val, turned: bool, i: Val, j: Val) -> Val:
            """The address of element (i, j) of a matrix."""
            return b.offset(pointer, b.add(b.mul(j, step), i) if turned else b.add(b.mul(i, step), j), ty)

        with b.loop(0, columns, SIDE) as j, b.loop(0, count) as part, b.loop(0, rows, SIDE) as i:
            k = b.mul(part, depth)
            height, width = (_least(b, b.sub(n, at), side) for n, at in ((rows, i), (columns, j)))
            size = _least(b, b.sub(inner, k), depth)
            strips = self._strip_count(b, width)
            left = b.offset(memory, b.mul(b.mul(strips, const("i64", self.lanes)), size), ty)
            first = zero if self.x_turned else b.udiv(height, const("i64", self.rows))
            panels = self._up(b, strips, _VECTORS)
            group = self._group(b, height, panels, threads)
            words = _Block(at(x, x_step, self.x_turned, i, k), x_step, at(y, y_step, self.y_turned, k, j), y_step,
                          at(out, columns, False, i, j), columns, height, size, width, memory, left, first,
                          group, b.select(b.icmp("eq", part, zero), scale, following)).store(b)
            new = b.select(b.icmp("eq", i, zero), strips, zero)  # packed columns are reused for the next rows
            run(copies, words, b.add(b.sub(self._up(b, height, self.rows), first), new), _TOGETHER, _STRIPS)
            run(tiles, words, b.mul(self._up(b, height, group), panels), 1, _TILES)
        return const("i32", 0)

    def _write_packing(self, b: Builder, inner: Val, columns: Val, y: Val, y_step: Val, packed: Val) -> Val:
        """Write a function that packs a right matrix of one block; it returns 0."""
        self._copy(b, self.lanes, not self.y_turned, const("i64", 0), self._strip_count(b, columns), inner, columns, y,
                   y_step, packed)
        return const("i32", 0)

    def _write_packed_product(self, b: Builder, frame: Val, rows: Val, inner: Val, columns: Val, x: Val, x_step: Val,
                              packed: Val, out: Val, scale: Val, threads: Val) -> Val:
        """Write a function that multiplies a matrix with contiguous rows by a packed one; memory for one strip of rows,
        for an incomplete tile, follows it. `scale`: as for products. `threads`: the maximal number; 0: the caller is in
        a parallel region, and all tiles are complete. It returns 0, or non-zero if a signal interrupted it."""
        tiles = self._phase("tiles", self._tiles)
        zero, one, count = const("i64", 0), const("i64", 1), self._strip_count(b, columns)
        left = b.offset(packed, b.mul(b.mul(count, const("i64", self.lanes)), inner), self.ty)
        first, tall = b.udiv(rows, const("i64", self.rows)), self._up(b, rows, self.rows)
        panels = self._up(b, count, _VECTORS)
        group = self._group(b, rows, panels, _largest(b, threads, one))
        words = _Block(x, x_step, _NONE, zero, out, columns, rows, inner, columns, packed, left, first, group,
                      scale).store(b)
        with b.when(b.icmp("ne", tall, first)):
            self._copy(b, self.rows, False, first, tall, inner, rows, x, x_step, left)
        size = b.mul(self._up(b, rows, group), panels)
        (status,) = b.either(b.icmp("eq", threads, zero), lambda: [b.call("i32", tiles, words, zero, size)],
                             lambda: [divided(b, tiles, words, size, 1, const("i64", _TILES), threads, frame)])
        return status

    def _group(self, b: Builder, rows: Val, panels: Val, threads: Val) -> Val:
        """The number of rows per group of tiles. Threads share the panels; if there are few panels, the rows are
        divided equally, too."""
        one = const("i64", 1)
        few = b.icmp("slt", panels, b.mul(threads, const("i64", 2)))
        shared = b.select(few, threads, one)
        groups = b.mul(_largest(b, self._up(b, self._up(b, rows, _GROUP), shared), one), shared)
        return b.mul(_largest(b, self._up(b, self._up(b, rows, self.rows), groups), one), const("i64", self.rows))

    def _phase(self, name: str, write: Callable[[Builder, Val, Val, Val], Val]) -> str:
        """Define a function that does a part of the work on a block, written by `write(builder, block, start,
        stop)`."""
        return self.module.define(name, "i32", ["ptr", "i64", "i64"], write, "nounwind")

    def _up(self, b: Builder, size: Val, by: Index) -> Val:
        """How many parts of size `by` cover a size."""
        return b.udiv(b.add(size, b.i64(b.isub(by, 1))), b.i64(by))

    def _strip_count(self, b: Builder, columns: Val) -> Val:
        """The number of strips of columns; at least one."""
        return _largest(b, self._up(b, columns, self.lanes), const("i64", 1))

    # Packing.

    def _copies(self, b: Builder, words: Val, start: Val, stop: Val) -> Val:
        """Pack the strips of a block: those of rows, then those of columns."""
        block, zero = _Block.load(b, words), const("i64", 0)
        many = b.sub(self._up(b, block.rows, self.rows), block.first)
        to = b.offset(block.left, b.mul(b.mul(start, const("i64", self.rows)), block.size), self.ty)
        self._copy(b, self.rows, self.x_turned, b.add(block.first, start),
                   b.add(block.first, _least(b, stop, many)), block.size, block.rows, block.x, block.x_step,
                   to)
        begins = _largest(b, b.sub(start, many), zero)
        to = b.offset(block.right, b.mul(b.mul(begins, const("i64", self.lanes)), block.size), self.ty)
        self._copy(b, self.lanes, not self.y_turned, begins, b.sub(stop, many), block.size, block.columns, block.y,
                   block.y_step, to)
        return const("i32", 0)

    def _copy(self, b: Builder, count: int, across: bool, start: Val, stop: Val, size: Val, lines: Val, source: Val,
              step: Val, target: Val) -> None:
        """Pack the strips `start` to `stop`, if there are any, each from `count` of the lines of `source`."""
        name = self.module.define(
            f"strips{count}.{'across' if across else 'along'}", "void", ["ptr", "i64", "i64", "i64", "i64", "ptr"],
            lambda b, *args: self._strip(b, count, across, *args), "nounwind")
        line, many = b.mul(start, const("i64", count)), _largest(b, b.sub(stop, start), const("i64", 0))
        b.call("void", name, b.offset(source, line if across else b.mul(line, step), self.ty), step,
               b.sub(lines, line), many, size, target)

    def _strip(self, b: Builder, count: int, across: bool, source: Val, step: Val, lines: Val, strips: Val, size: Val,
               target: Val) -> None:
        """Pack strips of `count` lines, interleaved, and filled up with zeros. `across`: the lines are already
        interleaved in the source; else each is contiguous."""
        ty, bytes, zero = self.ty, self.dtype.size, const("i64", 0)
        wide = f"<{count} x {ty}>"

        def whole(first: Val, many: int) -> None:
            """Pack complete strips."""
            with b.loop(0, size) as k:
                start = b.offset(source, b.add(b.mul(k, step), b.mul(first, const("i64", count))), ty)
                for j in range(many):
                    at = b.add(b.mul(b.add(first, const("i64", j)), size), k)
                    b.store(b.load(wide, b.offset(start, j * count, ty), bytes), b.offset(target, at, wide), bytes)

        def some(first: Val) -> None:
            """Pack a strip element by element."""
            to, begin = b.offset(target, b.mul(first, size), wide), b.mul(first, const("i64", count))
            there = b.sub(lines, begin)
            with b.when(b.icmp("slt", there, const("i64", count))):
                room = b.mul(size, const("i64", count * bytes))
                b.call("void", "llvm.memset.p0.i64", to, const("i8", 0), room, Val("i1", "false"))
            many = b.and_(size, const("i64", -_AT_ONCE))
            parts = [(zero, size, 1)] if across else [(zero, many, _AT_ONCE), (many, size, 1)]
            with b.loop(0, _least(b, there, const("i64", count))) as line:
                for begins, ends, by in parts:
                    with b.loop(begins, ends, by) as k:
                        i = b.add(begin, line)
                        at = b.add(b.mul(k, step), i) if across else b.add(b.mul(i, step), k)
                        start = b.offset(source, at, ty)
                        end = b.offset(to, b.add(b.mul(k, const("i64", count)), line), ty)
                        for j in range(by):
                            b.store(b.load(ty, b.offset(start, j, ty)), b.offset(end, j * count, ty))

        full = zero
        if across:
            full = _least(b, strips, b.udiv(_largest(b, lines, zero), const("i64", count)))
            even = b.and_(full, const("i64", -_TOGETHER))
            with b.loop(0, even, _TOGETHER) as k:
                whole(k, _TOGETHER)
            with b.loop(even, full) as k:
                whole(k, 1)
        with b.loop(full, strips) as k:
            some(k)

    # Tiles.

    def _tiles(self, b: Builder, words: Val, start: Val, stop: Val) -> Val:
        """For each number from `start` to `stop`, compute a group of rows by a panel. Equal groups are consecutive."""
        block = _Block.load(b, words)
        ty, bytes, high = self.ty, const("i64", self.dtype.size), const("i64", self.rows)
        strips, most = self._strip_count(b, block.columns), const("i64", _VECTORS)
        panels = self._up(b, strips, _VECTORS)
        narrow = b.sub(b.mul(panels, most), strips)  # the first `narrow` panels are one strip narrower
        with b.loop(start, stop) as number:
            panel, top = b.urem(number, panels), b.mul(b.udiv(number, panels), block.group)
            slim = b.icmp("slt", panel, narrow)
            before = b.sub(b.mul(panel, most), b.select(slim, panel, narrow))
            vectors = _least(b, strips, b.select(slim, const("i64", _VECTORS - 1), most))
            column = b.mul(before, const("i64", self.lanes))
            right = b.offset(block.right, b.mul(column, block.size), ty)
            last = _least(b, block.rows, b.add(top, block.group))
            with b.loop(top, last, self.rows) as row:
                copied = b.sub(row, b.mul(block.first, high))
                there = b.icmp("sge", copied, const("i64", 0))
                left = b.select(there, b.offset(block.left, b.mul(copied, block.size), ty),
                                b.offset(block.x, b.mul(row, block.x_step), ty))
                row_step = b.mul(b.select(there, const("i64", 1), block.x_step), bytes)
                step = b.mul(b.select(there, high, const("i64", 1)), bytes)
                out = b.offset(block.out, b.add(b.mul(row, block.line), column), ty)
                self._tile(b, vectors, block, left, row_step, step, right, out, b.sub(block.rows, row),
                           b.sub(block.columns, column))
        return const("i32", 0)

    def _tile(self, b: Builder, vectors: Val, block: _Block, left: Val, row_step: Val, step: Val, right: Val, out: Val,
              rows: Val, columns: Val) -> None:
        """Compute a tile, rows by strips of columns. `row_step` is the stride of rows in bytes, `step` that of their
        elements. An incomplete tile is computed in temporary memory."""
        width, bytes = b.mul(vectors, const("i64", self.lanes)), const("i64", self.dtype.size)
        whole = b.and_(b.icmp("sge", rows, const("i64", self.rows)), b.icmp("sge", columns, width))
        found = b.alloca(self.ty, self.rows * _VECTORS * self.lanes, 64)
        line, wide = b.mul(block.line, bytes), b.mul(width, bytes)

        def move(source: Val, source_line: Val, target: Val, target_line: Val) -> None:
            with b.loop(0, _least(b, rows, const("i64", self.rows))) as r:
                b.call("void", "llvm.memcpy.p0.p0.i64", b.offset(target, b.mul(r, target_line), "i8"),
                       b.offset(source, b.mul(r, source_line), "i8"),
                       b.mul(_least(b, columns, width), bytes), Val("i1", "false"))

        with b.when(b.and_(b.not_(whole), b.icmp("ne", block.scale, _NONE))):
            move(out, line, found, wide)
        moved = [block.size, left, right, b.select(whole, out, found)]
        kept = [b.mul(block.size, const("i64", self.lanes * self.dtype.size)), b.select(whole, line, wide),
                block.scale, row_step, step]

        def made(vectors: int) -> list[Val]:
            text, changed = self._instructions(vectors)
            b.line(f'call {{ i64, ptr, ptr, ptr }} asm sideeffect "{text}", "=&r,=&r,=&r,=&r,{"r," * len(kept)}'
                   f'0,1,2,3,{changed},~{{memory}},~{{flags}}"({", ".join(map(str, [*kept, *moved]))})')
            return []

        def as_wide(most: int) -> list[Val]:
            if most == 1:
                return made(1)
            return b.either(b.icmp("eq", vectors, const("i64", most)), lambda: made(most), lambda: as_wide(most - 1))

        as_wide(_VECTORS)
        with b.when(b.not_(whole)):
            move(found, wide, out, line)

    def _instructions(self, vectors: int) -> tuple[str, str]:
        """The instructions of a tile, and the registers that they clobber. LLVM would generate about the same ones, but
        in 15 ms.

        Operands: $0 the size, $1 the rows, $2 the strips, $3 the result, which the code advances; $4 the stride of
        strips in bytes, $5 that of rows of the result; $6 the address of the factor, to add to the result; $7 the
        stride of rows in bytes, $8 that of their elements.
        """
        wide, kind = self.lanes * self.dtype.size, "s" if self.dtype.size == 4 else "d"
        name = "%zmm" if wide == 64 else "%ymm"
        sums = [[f"{name}{r * vectors + v}" for v in range(vectors)] for r in range(self.rows)]
        factors = [f"{name}{self.rows * vectors + v}" for v in range(vectors)]
        one = f"{name}{(self.rows + 1) * vectors}"
        clear = "vpxord" if wide == 64 else "vpxor"
        strips = ["($2)", "($2,$4)", "($2,$4,2)"][:vectors]
        rows = ["($1)", "($1,$7)", "($1,$7,2)", "($1,%rax)", "($1,$7,4)", "($1,%r10)", "($1,%rax,2)", "($1,%r11)"]
        lines = ["movq $3, %rax"]
        for row in sums:
            lines += [f"prefetcht0 {at}(%rax)" for at in range(0, vectors * wide, 64)] + ["addq $5, %rax"]
            lines += [f"{clear} {total}, {total}, {total}" for total in row]
        lines += ["leaq ($7,$7,2), %rax", "leaq ($7,$7,4), %r10", "leaq (%rax,$7,4), %r11", "testq $0, $0", "jz 2f",
                  "1:"]
        lines += [f"vmovup{kind} {place}, {factor}" for place, factor in zip(strips, factors, strict=True)]
        for place, row in zip(rows, sums, strict=False):
            lines.append(f"vbroadcasts{kind} {place}, {one}")
            lines += [f"vfmadd231p{kind} {factor}, {one}, {total}" for factor, total in zip(factors, row, strict=True)]
        lines += ["addq $8, $1", f"addq $${wide}, $2", "decq $0", "jnz 1b", "2:", "testq $6, $6", "jz 3f",
                  f"vbroadcasts{kind} ($6), {one}"]
        places = [f"{v * wide}($3)" for v in range(vectors)]
        for adds in (True, False):
            for row in sums:
                for place, total in zip(places, row, strict=True):
                    lines += [f"vfmadd213p{kind} {place}, {one}, {total}"] if adds else []
                    lines.append(f"vmovup{kind} {total}, {place}")
                lines.append("addq $5, $3")
            lines += ["jmp 4f", "3:"] if adds else []
        lines += ["4:", "vzeroupper"]
        changed = ["rax", "r10", "r11", *[f"xmm{k}" for k in range((self.rows + 1) * vectors + 1)]]
        return "\\0A".join(lines), ",".join(f"~{{{name}}}" for name in changed)


PRODUCT: Final = "product"
PACK_RIGHT: Final = "pack_right"
PACKED_PRODUCT: Final = "packed_product"
_TYPES: Final = {
    PRODUCT: ["ptr", "i64", "i64", "i64", "i64", "ptr", "i64", "ptr", "i64", "ptr", "ptr", "ptr"],
    PACK_RIGHT: ["i64", "i64", "ptr", "i64", "ptr"],
    PACKED_PRODUCT: ["ptr", "i64", "i64", "i64", "ptr", "i64", "ptr", "ptr", "ptr", "i64"],
}


def _name(part: str, dtype: DType, x_turned: bool, y_turned: bool) -> str:
    return f"runtime_{part}_{llvm_type(dtype)}_{'nt'[x_turned]}{'nt'[y_turned]}"


_TURNED: Final = {PRODUCT: [(False, False), (False, True), (True, False), (True, True)],
                  PACK_RIGHT: [(False, False), (False, True)], PACKED_PRODUCT: [(False, False)]}
FUNCTIONS: Final = {_name(part, dtype, x_turned, y_turned): (part, dtype, x_turned, y_turned) for part in _TYPES
                    for dtype in (float32, float64) for x_turned, y_turned in _TURNED[part]}
"""By name: which function it is, and the arguments of `Packed`."""


def function_text(name: str, module: Module) -> str:
    """A module with one of `FUNCTIONS`."""
    part, dtype, x_turned, y_turned = FUNCTIONS[name]
    Packed(module, dtype, x_turned, y_turned).define(part)
    return module.text()
