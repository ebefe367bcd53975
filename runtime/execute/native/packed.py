"""Large products of matrices on all threads where there is no BLAS, by code that is compiled once for a process.

Alone it takes 0.91 of OpenBLAS's time for 1024x1024 in float32. But after a call of OpenBLAS that library's threads
go on waiting in a loop, and others take half as long again meanwhile, so it does not go together with one.

Matrices are cut into blocks, and the columns of a block of the right one are copied first, as many at a time as a
register has lanes, so that they lie as they are multiplied: such a strip has the elements of one row side by side, then
those of the next. A tile, whose sums all stay in registers, is a few rows of the left matrix by two or three strips
(Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008). Rows are read where they are; they are
copied to strips, too, where they lie by columns, and at the end, where a tile would read what is not there.

Each sum adds up the products of a block in order, then those of the next block. So it is the same whatever the tile,
the thread, and the number of them. Where blocks are cut depends on the sizes alone.

The strips of a right matrix of one block may also be kept, and many left ones multiplied by them (`strips.py`).
"""
from __future__ import annotations

from typing import Final, NamedTuple

from runtime.execute.native.emit import Builder, Index, Module, Val, const
from runtime.execute.native.parallel import THREADS_WORD
from runtime.execute.native.pool import divided
from runtime.execute.native.scalars import llvm_type
from runtime.types import DType, float32, float64

__all__ = ["BY_STRIPS", "DEPTH", "PARTS", "PRODUCTS", "SIDE", "STRIPS", "Packed", "fits", "product_text"]

DEPTH: Final = 512  # products of a sum that a block adds up
SIDE: Final = 2048  # rows and columns of a block
_GROUP: Final = 96  # rows that stay in the cache of a core while columns pass by
_VECTORS: Final = 3  # of a row of a tile, at most
_AT_ONCE: Final = 8  # elements that are copied before a loop goes on
_TOGETHER: Final = 4  # strips that are copied side by side, as rows may be far from each other
_STRIPS: Final = 512  # that a thread copies between two looks at signals, at most
_TILES: Final = 2  # groups of tiles that a thread takes at once: others wait for the last of them, 0.1 ms
_THREADS: Final = 1 << 22  # multiplications from which on several threads pay


def fits(module: Module, dtype: DType) -> bool:
    """Whether this machine can run the code: it is x86-64 with AVX2 or AVX-512."""
    return dtype in (float32, float64) and module.fma and module.vector_bits >= 256


class _Block(NamedTuple):
    """What threads find in memory. The operands are where those of the block begin, and so is the result."""

    x: Val
    x_step: Val
    y: Val
    y_step: Val
    out: Val
    line: Val  # of the result: the elements from one row to the next
    rows: Val
    size: Val  # of the sums
    columns: Val
    right: Val  # memory for the strips of columns, and
    left: Val  # for those of rows
    first: Val  # of the strips of rows that are copied, the number; those before are not
    group: Val  # rows of the tiles that one thread makes before it looks for more
    again: Val  # whether there is the sum of other blocks already, to which it is added

    def store(self, b: Builder) -> Val:
        held = b.alloca("i64", len(self))
        for k, value in enumerate(self):
            b.store(value, b.offset(held, k, "i64"))
        return held

    @classmethod
    def load(cls, b: Builder, held: Val) -> _Block:
        types = ["ptr", "i64", "ptr", "i64", "ptr", *["i64"] * 4, "ptr", "ptr", "i64", "i64", "i1"]
        return cls(*[b.load(kind, b.offset(held, k, "i64")) for k, kind in enumerate(types)])


class Packed:
    """The code of products of one dtype whose matrices lie in one way: by rows, or turned, by columns."""

    def __init__(self, module: Module, dtype: DType, x_turned: bool, y_turned: bool) -> None:
        self.module = module
        self.dtype = dtype
        self.ty = llvm_type(dtype)
        self.lanes = module.vector_bits // (8 * dtype.size)
        self.rows = 8 if module.vector_bits >= 512 else 4  # of a tile: there are 32 registers, or 16
        self.x_turned = x_turned
        self.y_turned = y_turned
        self.name = _name(dtype, x_turned, y_turned)

    def room(self, b: Builder, rows: Index, inner: Index, columns: Index) -> Index:
        """The elements of memory that a product needs."""
        def least(size: Index, most: int) -> Index:
            return min(size, most) if isinstance(size, int) else b.intrinsic("smin", size, const("i64", most))

        lines = b.iadd(least(columns, SIDE), least(rows, SIDE) if self.x_turned else 0)
        return b.imul(b.iadd(lines, 3 * self.lanes), least(inner, DEPTH))

    def declare(self, part: str = "") -> str:
        """The name of a function: of which `write` says what it takes, or of another of `PARTS`."""
        self.module.declare(self.name + part, "i32", *_TYPES[part])
        return self.name + part

    def define(self) -> None:
        for part, write in (("", self.write), (STRIPS, self._write_strips), (BY_STRIPS, self._write_by_strips)):
            self.module.define(self.name + part, "i32", _TYPES[part], write, "nounwind", linkage="")

    def write(self, b: Builder, frame: Val, rows: Val, inner: Val, columns: Val, x: Val, x_step: Val, y: Val,
              y_step: Val, out: Val, memory: Val) -> Val:
        """A function whose result is 0, or a signal stopped it."""
        ty, one, zero, side = self.ty, const("i64", 1), const("i64", 0), const("i64", SIDE)
        copies, tiles = self._phases()
        small = b.icmp("slt", b.mul(b.mul(rows, inner), columns), const("i64", _THREADS))
        threads = b.select(small, one, b.load("i64", b.load("ptr", b.offset(frame, THREADS_WORD, "i64"))))
        count = b.intrinsic("smax", self._up(b, inner, DEPTH), one)
        depth = b.udiv(b.add(inner, b.sub(count, one)), count)  # all blocks about the same

        def run(name: str, held: Val, size: Val, step: int, most: int) -> None:
            status = divided(b, name, held, size, step, const("i64", most), threads, frame)
            with b.when(b.icmp("ne", status, const("i32", 0))):
                b.line(f"ret {status}")

        def at(pointer: Val, step: Val, turned: bool, i: Val, j: Val) -> Val:
            """Where element (i, j) of a matrix is."""
            return b.offset(pointer, b.add(b.mul(j, step), i) if turned else b.add(b.mul(i, step), j), ty)

        with b.loop(0, columns, SIDE) as j, b.loop(0, count) as part, b.loop(0, rows, SIDE) as i:
            k = b.mul(part, depth)
            height, width = (b.intrinsic("smin", b.sub(n, at), side) for n, at in ((rows, i), (columns, j)))
            size = b.intrinsic("smin", b.sub(inner, k), depth)
            strips = self._strips(b, width)
            left = b.offset(memory, b.mul(b.mul(strips, const("i64", self.lanes)), size), ty)
            first = zero if self.x_turned else b.udiv(height, const("i64", self.rows))
            held = _Block(at(x, x_step, self.x_turned, i, k), x_step, at(y, y_step, self.y_turned, k, j), y_step,
                          at(out, columns, False, i, j), columns, height, size, width, memory, left, first,
                          const("i64", _GROUP), b.icmp("ne", part, zero)).store(b)
            new = b.select(b.icmp("eq", i, zero), strips, zero)  # the columns stay for the next rows
            run(copies, held, b.add(b.sub(self._up(b, height, self.rows), first), new), _TOGETHER, _STRIPS)
            run(tiles, held, b.mul(self._up(b, height, _GROUP), self._up(b, strips, _VECTORS)), 1, _TILES)
        return const("i32", 0)

    def _write_strips(self, b: Builder, inner: Val, columns: Val, y: Val, y_step: Val, strips: Val) -> Val:
        """A function that copies a right matrix of one block; its result is 0."""
        copies, _ = self._phases()
        zero, nothing = const("i64", 0), Val("ptr", "null")
        held = _Block(nothing, zero, y, y_step, nothing, columns, zero, inner, columns, strips, nothing, zero, zero,
                      const("i1", 0)).store(b)
        return b.call("i32", copies, held, zero, self._strips(b, columns))

    def _write_by_strips(self, b: Builder, frame: Val, rows: Val, inner: Val, columns: Val, x: Val, x_step: Val,
                         strips: Val, out: Val, again: Val, threads: Val) -> Val:
        """A function that multiplies a matrix whose rows lie as they are by such strips; behind them is memory for a
        strip of rows, if a tile would not be whole. `again`: add to what is there. `threads`: at most so many; 0: it
        is part of what they run, and all tiles are whole. Its result is 0, or a signal stopped it."""
        copies, tiles = self._phases()
        zero, one, count = const("i64", 0), const("i64", 1), self._strips(b, columns)
        left = b.offset(strips, b.mul(b.mul(count, const("i64", self.lanes)), inner), self.ty)
        first, tall = b.udiv(rows, const("i64", self.rows)), self._up(b, rows, self.rows)
        shared = b.intrinsic("smax", threads, one)  # as many rows for one as for another, whose columns may differ
        groups = b.mul(b.intrinsic("smax", self._up(b, self._up(b, rows, _GROUP), shared), one), shared)
        group = b.mul(b.intrinsic("smax", self._up(b, tall, groups), one), const("i64", self.rows))
        held = _Block(x, x_step, Val("ptr", "null"), zero, out, columns, rows, inner, columns, strips, left, first,
                      group, b.icmp("ne", again, zero)).store(b)
        rest = b.sub(tall, first)
        with b.when(b.icmp("ne", rest, zero)):
            b.call("i32", copies, held, zero, rest)
        size = b.mul(self._up(b, rows, group), self._up(b, count, _VECTORS))
        (status,) = b.either(b.icmp("eq", threads, zero), lambda: [b.call("i32", tiles, held, zero, size)],
                             lambda: [divided(b, tiles, held, size, 1, const("i64", _TILES), threads, frame)])
        return status

    def _phases(self) -> list[str]:
        """The functions that copy strips of a block, and multiply them."""
        return [self.module.define(f"{self.name}.{name}", "i32", ["ptr", "i64", "i64"], part, "nounwind")
                for name, part in (("copies", self._copies), ("tiles", self._tiles))]

    def _up(self, b: Builder, size: Val, by: Index) -> Val:
        """How many parts of `by` cover a size."""
        return b.udiv(b.add(size, b.i64(b.isub(by, 1))), b.i64(by))

    def _strips(self, b: Builder, columns: Val) -> Val:
        """Of columns. There are two at least, as each tile has two or three."""
        return b.intrinsic("smax", self._up(b, columns, self.lanes), const("i64", 2))

    # Copies.

    def _copies(self, b: Builder, held: Val, start: Val, stop: Val) -> Val:
        """Strips of a block: those of rows, then those of columns."""
        block = _Block.load(b, held)
        many = b.sub(self._up(b, block.rows, self.rows), block.first)

        def copy(start: Val, stop: Val, place: Val, count: int, lines: Val, source: Val, step: Val, across: bool,
                 target: Val) -> None:
            """The strips `start` to `stop`, if there are any, each of `count` lines of `source`, from a place on."""
            types = ["ptr", "i64", "i64", "i64", "i64", "ptr"]
            name = f"strips{count}.{'across' if across else 'along'}"
            self.module.define(name, "void", types, lambda b, *args: self._strip(b, count, across, *args), "nounwind")
            line, to = b.mul(start, const("i64", count)), b.mul(b.mul(place, const("i64", count)), block.size)
            many = b.intrinsic("smax", b.sub(stop, start), const("i64", 0))
            b.call("void", name, b.offset(source, line if across else b.mul(line, step), self.ty), step,
                   b.sub(lines, line), many, block.size, b.offset(target, to, self.ty))

        ends = b.intrinsic("smin", stop, many)
        copy(b.add(block.first, start), b.add(block.first, ends), start, self.rows, block.rows, block.x, block.x_step,
             self.x_turned, block.left)
        begins = b.intrinsic("smax", b.sub(start, many), const("i64", 0))
        copy(begins, b.sub(stop, many), begins, self.lanes, block.columns, block.y, block.y_step, not self.y_turned,
             block.right)
        return const("i32", 0)

    def _strip(self, b: Builder, count: int, across: bool, source: Val, step: Val, lines: Val, strips: Val, size: Val,
               target: Val) -> None:
        """Strips of `count` lines side by side, of which zeros fill up what is not there. `across`: so they lie
        already; else each lies by itself."""
        ty, bytes, zero = self.ty, self.dtype.size, const("i64", 0)
        wide = f"<{count} x {ty}>"

        def whole(first: Val, many: int) -> None:
            """Strips of which no line is missing."""
            with b.loop(0, size) as k:
                start = b.offset(source, b.add(b.mul(k, step), b.mul(first, const("i64", count))), ty)
                for j in range(many):
                    at = b.add(b.mul(b.add(first, const("i64", j)), size), k)
                    b.store(b.load(wide, b.offset(start, j * count, ty), bytes), b.offset(target, at, wide), bytes)

        def some(first: Val) -> None:
            """Element by element."""
            to, begin = b.offset(target, b.mul(first, size), wide), b.mul(first, const("i64", count))
            there = b.sub(lines, begin)
            with b.when(b.icmp("slt", there, const("i64", count))):
                room = b.mul(size, const("i64", count * bytes))
                b.call("void", "llvm.memset.p0.i64", to, const("i8", 0), room, Val("i1", "false"))
            many = zero if across else b.and_(size, const("i64", -_AT_ONCE))
            with b.loop(0, b.intrinsic("smin", there, const("i64", count))) as line:
                for begins, ends, by in ((zero, many, _AT_ONCE), (many, size, 1)):
                    with b.loop(begins, ends, by) as k:
                        i = b.add(begin, line)
                        at = b.add(b.mul(k, step), i) if across else b.add(b.mul(i, step), k)
                        start = b.offset(source, at, ty)
                        end = b.offset(to, b.add(b.mul(k, const("i64", count)), line), ty)
                        for j in range(by):
                            b.store(b.load(ty, b.offset(start, j, ty)), b.offset(end, j * count, ty))

        full = zero
        if across:
            full = b.intrinsic("smin", strips, b.udiv(b.intrinsic("smax", lines, zero), const("i64", count)))
            even = b.and_(full, const("i64", -_TOGETHER))
            with b.loop(0, even, _TOGETHER) as k:
                whole(k, _TOGETHER)
            with b.loop(even, full) as k:
                whole(k, 1)
        with b.loop(full, strips) as k:
            some(k)

    # Tiles.

    def _tiles(self, b: Builder, held: Val, start: Val, stop: Val) -> Val:
        """For each number, a group of rows by the columns of a tile. Those of the same rows come one after another."""
        block = _Block.load(b, held)
        ty, bytes, high = self.ty, const("i64", self.dtype.size), const("i64", self.rows)
        strips = self._strips(b, block.columns)
        panels = self._up(b, strips, _VECTORS)
        narrow = b.sub(b.mul(panels, const("i64", _VECTORS)), strips)  # so many panels, the first, are one less wide
        with b.loop(start, stop) as number:
            panel, top = b.urem(number, panels), b.mul(b.udiv(number, panels), block.group)
            slim = b.icmp("slt", panel, narrow)
            before = b.sub(b.mul(panel, const("i64", _VECTORS)), b.select(slim, panel, narrow))
            column = b.mul(before, const("i64", self.lanes))
            right = b.offset(block.right, b.mul(column, block.size), ty)
            last = b.intrinsic("smin", block.rows, b.add(top, block.group))
            with b.loop(top, last, self.rows) as row:
                copied = b.sub(row, b.mul(block.first, high))
                there = b.icmp("sge", copied, const("i64", 0))
                left = b.select(there, b.offset(block.left, b.mul(copied, block.size), ty),
                                b.offset(block.x, b.mul(row, block.x_step), ty))
                row_step = b.mul(b.select(there, const("i64", 1), block.x_step), bytes)
                step = b.mul(b.select(there, high, const("i64", 1)), bytes)
                given = [block.size, left, row_step, step, right,
                         b.offset(block.out, b.add(b.mul(row, block.line), column), ty), block.line,
                         b.sub(block.rows, row), b.sub(block.columns, column), block.again]

                def tile(vectors: int, given: list[Val] = given) -> list[Val]:
                    name = self.module.define(f"tile{vectors}", "void", [v.ty for v in given], lambda b, *args:
                                              self._tile(b, vectors, *args), "nounwind")
                    b.call("void", name, *given)
                    return []

                b.either(slim, lambda: tile(_VECTORS - 1), lambda: tile(_VECTORS))
        return const("i32", 0)

    def _tile(self, b: Builder, vectors: int, size: Val, left: Val, row_step: Val, step: Val, right: Val, out: Val,
              line: Val, rows: Val, columns: Val, again: Val) -> None:
        """Rows by strips of columns. `row_step` is how many bytes rows are apart, `step` how many their elements. Less
        may be wanted: then all goes elsewhere first."""
        ty, bytes, width = self.ty, self.dtype.size, vectors * self.lanes
        whole = b.and_(b.icmp("sge", rows, const("i64", self.rows)), b.icmp("sge", columns, const("i64", width)))
        found = b.alloca(ty, self.rows * width, 64)
        text, changed = self._instructions(vectors)
        moved = [size, left, right, b.select(whole, out, found)]
        apart = b.mul(b.select(whole, line, const("i64", width)), const("i64", bytes))
        kept = [b.mul(size, const("i64", self.lanes * bytes)), apart, b.convert("zext", b.and_(again, whole), "i64"),
                row_step, step]
        b.line(f'call {{ i64, ptr, ptr, ptr }} asm sideeffect "{text}", "=&r,=&r,=&r,=&r,{"r," * len(kept)}0,1,2,3,'
               f'{changed},~{{memory}},~{{flags}}"({", ".join(map(str, [*kept, *moved]))})')
        with b.when(b.not_(whole)):
            height = b.intrinsic("smin", rows, const("i64", self.rows))
            wanted = b.intrinsic("smin", columns, const("i64", width))
            vector, even = f"<{self.lanes} x {ty}>", b.and_(wanted, const("i64", -self.lanes))
            with b.loop(0, height) as r:
                for kind, begins, ends, by in ((vector, const("i64", 0), even, self.lanes), (ty, even, wanted, 1)):
                    with b.loop(begins, ends, by) as k:
                        to = b.offset(out, b.add(b.mul(r, line), k), ty)
                        total = b.load(kind, b.offset(found, b.add(b.mul(r, const("i64", width)), k), ty), bytes)
                        with b.when(again):
                            b.store(b.fadd(b.load(kind, to, bytes), total), to, bytes)
                        with b.when(b.not_(again)):
                            b.store(total, to, bytes)

    def _instructions(self, vectors: int) -> tuple[str, str]:
        """Those of a tile, and which registers they change. LLVM would find about the same ones, but in 15 ms.

        Operands: $0 the size, $1 the rows, $2 the strips, $3 the result, which move; $4 how many bytes strips are
        apart, $5 rows of the result; $6 whether to add to it; $7 how many bytes rows are apart, $8 their elements.
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
        lines += ["addq $8, $1", f"addq $${wide}, $2", "decq $0", "jnz 1b", "2:", "testq $6, $6", "jz 3f"]
        places = [f"{v * wide}($3)" for v in range(vectors)]
        for adds in (True, False):
            for row in sums:
                for place, total in zip(places, row, strict=True):
                    lines += [f"vaddp{kind} {place}, {total}, {total}"] if adds else []
                    lines.append(f"vmovup{kind} {total}, {place}")
                lines.append("addq $5, $3")
            lines += ["jmp 4f", "3:"] if adds else []
        lines += ["4:", "vzeroupper"]
        changed = ["rax", "r10", "r11", *[f"xmm{k}" for k in range((self.rows + 1) * vectors + 1)]]
        return "\\0A".join(lines), ",".join(f"~{{{name}}}" for name in changed)


STRIPS: Final = "_strips"
BY_STRIPS: Final = "_by_strips"
PARTS: Final = ("", STRIPS, BY_STRIPS)
"""What follows the name of a product in the names of its functions."""
_TYPES: Final = {
    "": ["ptr", "i64", "i64", "i64", "ptr", "i64", "ptr", "i64", "ptr", "ptr"],
    STRIPS: ["i64", "i64", "ptr", "i64", "ptr"],
    BY_STRIPS: ["ptr", "i64", "i64", "i64", "ptr", "i64", "ptr", "ptr", "i64", "i64"],
}


def _name(dtype: DType, x_turned: bool, y_turned: bool) -> str:
    return f"runtime_product_{llvm_type(dtype)}_{'nt'[x_turned]}{'nt'[y_turned]}"


PRODUCTS: Final = {_name(*kind): kind for kind in [
    (dtype, x_turned, y_turned) for dtype in (float32, float64) for x_turned in (False, True)
    for y_turned in (False, True)]}
"""By the name of its function, what `Packed` takes."""


def product_text(name: str, module: Module) -> str:
    """A module with the code of a function of `PRODUCTS`."""
    Packed(module, *PRODUCTS[name]).define()
    return module.text()
