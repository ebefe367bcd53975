"""Statements and expressions of Python 3.10 that the other programs do not have: each means what it meant, and a tensor
beside it stages. What newer versions added is in `newer.py`."""
from __future__ import annotations

import asyncio
import contextlib
import copy
import dataclasses
import functools
import inspect
import pickle
import sys

from programs import fixed, program

FRAME = "a text is a module of its own, whose bodies have frames of their own"


# --- Definitions --------------------------------------------------------------------------------------------


@program((3,), (-3,))
def parameters_of_every_kind(x):
    def f(a, b=2, /, c=3, *rest, d, e=x if x > 0 else 0, **more):
        return a, b, c, rest, d, e, sorted(more)

    return f(1, d=4), f(1, 2, 3, 4, 5, d=6, e=7, z=8), f(1, c=9, d=10, b=11)


@program((3,), (-3,))
def defaults_are_evaluated_once(x):
    def f(a, seen=[], *, scale=x * 2):
        seen.append(a)
        return len(seen), scale

    return f(1), f(2), f(3, [])


@program((2,),)
def annotations_are_kept_and_not_evaluated(x):
    def f(a: undefined_name, *rest: 1 / 0, k: list[text] = 1) -> also_undefined:  # noqa: F821
        local: missing = a  # noqa: F821
        return local + k

    return f(x), f.__annotations__["a"], f.__annotations__["return"], sorted(f.__annotations__)


@program((3,), (-3,))
def decorators_in_order(x):
    def tag(name):
        def decorate(fn):
            @functools.wraps(fn)
            def run(*args):
                return name, fn(*args)
            return run
        return decorate

    @tag("outer")
    @tag("inner")
    def f(v):
        """Its text."""
        return v if v > 0 else -v

    return f(x), f.__name__, f.__doc__, f.__wrapped__.__wrapped__.__name__


@program((3,), (-3,))
def lambdas_with_everything(x):
    f = lambda a, /, b=1, *c, d=x, **e: (a + b if a > 0 else b, c, d, sorted(e))
    return f(1), f(-1, 2, 3, d=4, k=5), (lambda: x)(), (lambda *_, v: v)(v=x)


@program((3,), (-3,))
def nested_classes_and_mangled_names(x):
    class Outer:
        __hidden = 1

        class __Inner:
            __deep = 10

            def value(self, v):
                __local = v if v > 0 else -v
                return __local + self.__deep

        def value(self, v):
            if v > 0:
                self.__made = v
            else:
                self.__made = -v
            return self.__made + self.__hidden + self.__Inner().value(v)

    outer = Outer()
    return outer.value(x), sorted(n for n in vars(outer)), sorted(n for n in vars(Outer) if "hidden" in n)


@program((3,), (-3,))
def mangled_names_in_decorators(x):
    class Box:
        def __mark(fn):
            @functools.wraps(fn)
            def run(self, v):
                return fn(self, v) + (1 if v > 0 else 0)
            return run

        @__mark
        def value(self, v):
            return v * 2

    return Box().value(x), Box.value.__qualname__


@program((3,), (-3,))
def class_bodies_with_control_flow(x):
    limit = 5

    class Table:
        names = []
        for name in ("a", "b"):
            if name != "b":
                names.append(name)
        top = limit if limit > 3 else 0

        def value(self, v):
            return v + self.top if v > 0 else self.top

    return Table.names, Table.top, Table.name, Table().value(x)


@program((3,), (-3,))
def metaclasses_and_class_keywords(x):
    class Meta(type):
        def __new__(mcls, name, bases, namespace, **options):
            made = super().__new__(mcls, name, bases, namespace)
            made.options = sorted(options)
            return made

        def __call__(cls, *args):
            made = super().__call__(*args)
            made.count = 1 if args else 0
            return made

        def __len__(cls):
            return 7

    class Base(metaclass=Meta, a=1):
        def __init__(self, v=0):
            self.v = v if v > 0 else -v

        def __init_subclass__(cls, **options):
            cls.sub = True

    class Derived(Base, b=2):
        pass

    made = Derived(x)
    return made.v, made.count, Derived.options, Derived.sub, len(Derived), type(Derived).__name__


@program((3,), (-3,))
def super_in_every_form(x):
    class A:
        def value(self, v):
            return v if v > 0 else 0

        @classmethod
        def made(cls, v):
            return cls.__name__, v

    class B(A):
        def value(self, v):
            direct = super().value(v)
            explicit = super(B, self).value(v + 1)  # noqa: UP008
            return direct + explicit + (lambda me: super(__class__, me).value(v))(self)  # noqa: UP008

        @classmethod
        def made(cls, v):
            return super().made(v) + (__class__.__name__,)

    return B().value(x), B.made(x)


@program((3,), (-3,))
def late_binding_of_captured_names(x):
    calls = []
    for k in (1, 2, 3):
        calls.append(lambda: k * x)
    total = 0
    for call in calls:
        total += call()
    k = 10
    return total, calls[0]()


@program((4,), (0,))
def global_and_nonlocal_in_nested_bodies(n):
    global LEVEL
    LEVEL = 0
    depth = 0

    def down(k):
        global LEVEL
        nonlocal depth
        if k > 0:
            LEVEL += k
            depth += 1

    for i in range(n):
        if i != 2:
            down(i)
    return LEVEL, depth


LEVEL = 0


@program((3,), (-3,), shown="the text of one function has not the function's docstring and module")
def metadata_is_kept(x):
    @functools.wraps(double)
    def f(v):
        return double(v)

    return f(x), f.__doc__, double.__doc__, double.__qualname__, double.__module__.rpartition(".")[2]


def double(v):
    """Twice."""
    return v + v if v > 0 else v * 2


# --- Statements ---------------------------------------------------------------------------------------------


@program((3,), (-3,))
def targets_of_every_kind(x):
    class Box:
        pass

    box, held = Box(), [0, 0, 0, 0]
    (box.a, held[0]), *rest, box.b = (x, 1), 2, 3, 4
    held[1:3] = [x, x + 1]
    a = held[-1] = x
    for box.c, (held[3], *_) in [(1, (2, 3)), (4, (5, 6, 7))]:
        pass
    [first, [second]] = [a, [box.c]]
    return box.a, box.b, box.c, held, rest, first, second


@program((3,), (-3,))
def deletions_of_every_kind(x):
    class Box:
        pass

    box, held, table = Box(), [1, 2, 3, 4], {"a": 1, "b": x}
    box.v = x
    y = x
    del box.v, held[0], held[-1:], (table["a"], y)
    try:
        y  # noqa: F821
    except UnboundLocalError:
        held.append("gone")
    return held, table, hasattr(box, "v")


@program((3,), (-3,))
def with_of_several_items(x):
    log = []

    @contextlib.contextmanager
    def open_(name):
        log.append("open " + name)
        try:
            yield name
        finally:
            log.append("close " + name)

    with open_("a") as a, open_("b"), (open_("c")) as c:
        log.append(a + c)
        y = x + 1 if x > 0 else x
    with (
        open_("d") as d,
        contextlib.suppress(KeyError),
    ):
        log.append(d)
        raise KeyError
    return log, y


@program((3,), (-3,))
def try_with_every_part(x):
    log = []
    for k in (0, 1, 2):
        try:
            log.append(10 // k)
            if k == 2:
                {}["missing"]
        except ZeroDivisionError as error:
            log.append(type(error).__name__)
        except (KeyError, IndexError):
            log.append("key")
        else:
            log.append("else")
        finally:
            log.append("finally")
    return log, x + 1 if x > 0 else x


@program((3,),)
def raise_from_keeps_the_cause(x):
    try:
        try:
            raise KeyError("first")
        except KeyError as error:
            raise ValueError("second") from error
    except ValueError as error:
        seen = type(error.__cause__).__name__, error.__suppress_context__
    try:
        try:
            raise KeyError("first")
        except KeyError:
            raise ValueError("second") from None
    except ValueError as error:
        return seen, error.__cause__, type(error.__context__).__name__, x


@program((5,), (0,))
def loops_with_else_and_jumps(n):
    log = []
    for i in range(n):
        if i == 1:
            continue
        if i == 3:
            break
        log.append(i)
    else:
        log.append(100)
    while n > 3:
        n -= 1
        if n == 2:
            break
    else:
        log.append(200)
    return log, n


@program((3,), (-3,))
def global_statement_in_a_branch(x):
    if x > 0:
        global LEVEL
        LEVEL = x
    else:
        LEVEL = 1
    return LEVEL


@program((3,), (-3,))
def imports_in_a_function(x):
    import math
    import os.path as path
    from collections import OrderedDict
    from collections import defaultdict as dd

    found = dd(int)
    if x > 0:
        found["a"] += 1
    return math.floor(2.5), path.join("a", "b").count("a"), len(OrderedDict()), x


# --- Expressions --------------------------------------------------------------------------------------------


@program((3,), (-3,))
def text_literals_and_formats(x):
    name, width = "né", 7
    return (f"{name!r:>{width}}|{name!s}|{{}}|{width:04d}|{'nested ' + f'{width}'}|{name=}", "a" "b" f"{1 + 1}", rb"\x",
            1_000, 0x1F, 1e3, 2j, ..., x if x > 0 else -x)


@program((3,), (-3,))
def slices_and_subscripts(x):
    held = list(range(10))

    class Grid:
        def __getitem__(self, key):
            return key

    a = held[1:], held[:-1:2], held[::-1][0], held[len(held) - 1], x if x > 0 else 0
    grid = Grid()
    return a, grid[1, 2:3, ...], grid[()], grid[1,]


@program((3,), (-3,))
def calls_with_stars(x):
    def f(*args, **kwargs):
        return args, sorted(kwargs.items())

    more = {"a": 1}
    return f(*[1, 2], x, *(3,), **more, b=2, **{"c": x}), f(*"ab"), [*range(2), *"c"], {**more, "z": x}, (*[1], x)


@program((3,), (-3,))
def comparisons_and_logic_of_every_kind(x):
    held = [1, None]
    a = x is held, x is not None, None in held, 5 not in held, not held
    return a, 1 < x <= 3 != 2, held and x, held or x, (x > 0) == (x > -10), x if held else None


@program((3,), (-3,))
def walrus_everywhere(x):
    held = [y := x + 1, y * 2]
    if (n := len(held)) > 1 and (m := n + y) > 0:
        held.append(m)
    while (n := n - 1) > 0:
        held.append(n)
    table = {"a": (z := 3), "b": z + y}
    return held, table, [k for v in (1, 2) if (k := v + z) > 4], (lambda: (w := y) + w)(), f"{(q := 5)}{q}"


@program((3,), (0,))
def generators_of_every_kind(n):
    def count(k):
        i = 0
        while i < k:
            got = yield i
            i += 1 if got is None else got
        return "done"

    def both(k):
        found = yield from count(k)
        yield found

    stepper = count(10)
    seen = [next(stepper), stepper.send(5), next(stepper)]
    stepper.close()

    def guarded():
        try:
            yield 1
        except KeyError:
            yield 2
        finally:
            seen.append("closed")

    g = guarded()
    seen += [next(g), g.throw(KeyError())]
    g.close()
    return seen, list(both(3)), n + 1 if n > 0 else n


@program((3,), (0,))
def async_of_every_kind(n):
    class Lock:
        async def __aenter__(self):
            await asyncio.sleep(0)
            return 5

        async def __aexit__(self, *exc):
            return exc[0] is KeyError

    async def numbers(k):
        for i in range(k):
            if i != 1:
                yield i
            await asyncio.sleep(0)

    async def main():
        seen = []
        async with Lock() as held, Lock():
            seen.append(held)
            raise KeyError
        async for i in numbers(4):
            if i > 2:
                break
            seen.append(i)
        else:
            seen.append("else")
        seen += [i * 2 async for i in numbers(3) if i > 0]
        seen.append({i async for i in numbers(3)} == {0, 2})
        seen.append([await asyncio.sleep(0, i) for i in range(2)])
        seen.append(await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2)))
        return seen

    return asyncio.run(main()), n + 1 if n > 0 else n


# --- What looks at the program ------------------------------------------------------------------------------


@program((fixed(3),), (fixed(-3),))
def names_seen_by_locals_vars_and_dir(x):
    y = x + 1 if x > 0 else 0
    for k in range(2):
        z = k
    return sorted(locals()), sorted(vars()), sorted(dir()), locals()["y"], z


@program((fixed(3),), (fixed(-3),))
def names_seen_by_eval_and_exec(x):
    y = 2
    if x > 0:
        y += x
    scope = {"x": x}
    exec("z = x * 2 if x > 0 else 0", scope)
    return eval("x + y"), scope["z"], eval("[i for i in range(3)]"), eval("w + 1", {"w": y})


@program((fixed(3),), (fixed(-3),), shown=FRAME)
def frames_and_inspect(x):
    def where():
        frame = sys._getframe(1)
        return frame.f_code.co_name, frame.f_locals["x"], inspect.currentframe().f_back is frame

    for _ in range(1):
        if x > 0:
            seen = where(), inspect.stack()[0].function, x
        else:
            seen = where(), inspect.currentframe().f_code.co_name, x
    return seen, inspect.getsource(double).count("\n"), str(inspect.signature(double)), inspect.isfunction(where)


@program((fixed(3),),)
def class_cell_and_dunders(x):
    class A:
        def who(self):
            return __class__ is type(self), type(self).__qualname__.rpartition(".")[2], self.who.__func__ is A.who

    return A().who(), x


@program((fixed(3),), (fixed(-3),))
def pickled_and_copied(x):
    fn = pickle.loads(pickle.dumps(double))
    copied = copy.deepcopy({"f": fn, "v": [x]})
    return fn(x), copied["f"](x), copied["v"], fn is double


# --- Classes and functions of the standard library ----------------------------------------------------------


@dataclasses.dataclass
class Sums:
    total: int = 0
    seen: int = 0
    last: int = dataclasses.field(default=-1, compare=False)

    def __post_init__(self):
        if self.total < 0:
            self.total = 0

    @property
    def mean(self):
        return self.total // self.seen if self.seen > 0 else 0

    def add(self, v):
        if v > 0:
            self.total += v
        self.seen += 1


@dataclasses.dataclass(frozen=True)
class Point:
    a: int
    b: int = 0

    def moved(self, d):
        return dataclasses.replace(self, a=self.a + d if d > 0 else self.a)


@program(([1, -2, 3],), ([-5],))
def dataclass_as_loop_state(xs):
    sums = Sums()
    for x in xs:
        sums.add(x)
        sums.last = x
    return sums.total, sums.seen, sums.last, sums.mean


@program(([1, -2, 3],), ([-5],))
def frozen_dataclass_as_loop_state(xs):
    point = Point(1, 2)
    for x in xs:
        point = point.moved(x)
    return point.a, point.b


@program((3,), (-3,))
def functions_of_functools(x):
    @functools.lru_cache(maxsize=8)
    def squared(k):
        return k * k if k > 1 else k

    @functools.singledispatch
    def kind(v):
        return "other"

    @kind.register
    def _(v: str):
        return "text" if len(v) > 1 else "letter"

    @kind.register(list)
    def _(v):
        return "list"

    scaled = functools.partial(lambda a, b, c=1: (a if a > 0 else -a) + b * c, x, c=3)
    total = functools.reduce(lambda a, b: a + b if b > 1 else a, [1, 2, 3])
    return squared(3), squared(3), squared.cache_info().hits, kind("ab"), kind("a"), kind([]), kind(1), scaled(2), total


@program((3,), (-3,))
def methods_of_functools(x):
    class Box:
        def __init__(self, v):
            self.v = v

        @functools.cached_property
        def size(self):
            return self.v if self.v > 0 else -self.v

        @functools.partialmethod
        def twice(self):
            return 2 * self.v

        def add(self, a, b):
            return self.v + a + b

        add_one = functools.partialmethod(add, 1)

        @functools.singledispatchmethod
        def kind(self, v):
            return "other"

        @kind.register
        def _(self, v: str):
            return "text"

    box = Box(x)
    return box.size, box.size, box.add_one(2), box.kind("a"), box.kind(1)


@program((fixed(150),),)
def recursion_through_a_branch_in_a_loop(depth):
    def down(k):
        found = 0
        for i in range(1):
            if k > 0:
                found = down(k - 1) + 1
        return found

    return down(depth)


@program((3,), (0,))
def items_set_among_others_on_a_line(n):
    d = [0, 0]; d[0] = abs(n); d[1] = max(n, 1); e = 1  # noqa: E702
    for i in range(n): d[0] = abs(i); d[1] = min(i, 2); e += 1  # noqa: E701, E702
    return d, e
