"""What a call remembers of its callee: as soon as the callee is another one, the other one is called."""
from __future__ import annotations

import abc
import dis
import gc
import marshal
import subprocess
import sys
import weakref
from types import CodeType, SimpleNamespace

import pytest

import autograph as ag
import runtime as rt
from autograph.codegen.dual_path import inline_caches
from autograph.core import backend
from autograph.dispatch import converted_call


def clip(x, low=0, *, high=10):
    if x < low:
        x = low
    return min(x, high)


class Account:
    rate = 1

    def __init__(self, balance, rate=2):
        if balance < 0:
            balance = -balance
        self.balance, self.rate = balance, rate

    def grown(self, times=1, *, more=0):
        if self.balance > 5:
            return self.balance * self.rate * times + more
        return self.balance + more

    @classmethod
    def of(cls, balance):
        return cls(balance)

    @staticmethod
    def doubled(x):
        return 2 * x if x > 0 else x


class Slim(Account):
    __slots__ = ()

    def grown(self, times=1, *, more=0):
        return super().grown(times, more=more) + 1


def kinds_of_calls(x):
    def inner(y):
        return y + 1 if y > 2 else y

    account = Account(x, rate=3)
    total = clip(x) + clip(x, 4) + clip(x, high=3) + inner(x) + account.grown() + account.grown(2, more=x)
    total += Account.of(x).balance + Account.doubled(x) + account.doubled(x) + Slim(x).grown(*[2])
    grown = account.grown
    total += grown() + getattr(account, "grow" + "n")() + [inner, clip][1](x) + {"f": Account}["f"](x).balance
    total += Account(Account(x).balance, rate=Account(4).rate).grown() + (lambda y: inner(y))(x)
    return total + sum(clip(i) for i in range(3)) + sum([Account(i).balance for i in range(3)])


@pytest.mark.parametrize("values", [(7, -7, 1, 12), (1, 7)])
def test_every_kind_of_call_converts_again_and_again(values):
    converted, staged = ag.convert(kinds_of_calls), rt.function(kinds_of_calls)
    for _ in range(3):
        for value in values:
            expected = kinds_of_calls(value)
            assert converted(value) == expected
            assert staged(rt.constant(value)).numpy() == expected
            assert converted(rt.constant(value)).numpy() == expected


def builtins_of(x, items):
    text = str(len(items)) + "ab"
    total = len(text) + abs(x) + int(" 3 ") + max(x, 3) + sum(items) + min(items) + round(2.5)
    for i, item in enumerate(sorted(items)):
        total += i * item
    for i in range(len(items)):
        total += items[i]
    return total + len(list(reversed(items))) + sum(a * b for a, b in zip(items, items))


def test_builtins_ask_backends_after_plain_calls():
    converted, staged = ag.convert(builtins_of), rt.function(builtins_of)
    for _ in range(2):
        assert converted(4, [3, 1, 2]) == builtins_of(4, [3, 1, 2])
        assert staged(rt.constant(4), rt.constant([3, 1, 2])).numpy() == builtins_of(4, [3, 1, 2])
        assert staged(rt.constant(4), [rt.constant(3), rt.constant(1)]).numpy() == builtins_of(4, [3, 1])


class Plain:
    """In none of its methods is there anything to convert."""

    def __init__(self, x, y=1):
        self.x, self.y = x, y

    def moved(self, by):
        self.x += by
        return self.x

    def scale(self):
        return lambda by: self.x * by

    @property
    def both(self):
        return self.x, f"{self.y:>3}"


class Signed(Plain):
    def __init__(self, x):
        super().__init__(x, y=2)

    def __add__(self, other):
        if self.x > other.x:
            return self.x - other.x
        return self.x + other.x


class Made(Plain, abc.ABC):
    def __new__(cls, x):
        self = super().__new__(cls)
        self.made = x if x > 0 else -x
        return self


class point(Plain):
    pass


def test_what_conversion_does_not_change_stands_for_itself():
    for fn in (Plain.__init__, Plain.moved, Plain.scale, Plain.both.fget, lambda x: x[1:] + [0.0, -0.0, (1, True)]):
        assert converted_call.call(fn) is fn
        made = ag.convert(fn)
        assert made is not fn and made.__wrapped__ is fn
    for fn in (Signed.__init__, Signed.__add__, Made.__new__, lambda x: not x, lambda x: lambda: x and 3):
        assert converted_call.call(fn) is not fn
    assert converted_call.call(Plain) is Plain and converted_call.call(point) is point
    assert converted_call.call(Signed) is not Signed and converted_call.call(Made) is not Made


def making(cls, p):
    made = [Plain(p), Signed(p), Made(p), point(p), cls(p), type(made_before)(p), made_before.__class__(p)]
    made += [made_before.kind(p), Plain(*[p]), Plain(Signed(p) + Signed(3))]
    return [(type(m).__name__, vars(m)) for m in made]


made_before = Signed(9)
made_before.kind = Made


def test_objects_are_made_as_python_makes_them():
    converted, staged = ag.convert(making), rt.function(making)
    for _ in range(12):
        for cls in (Plain, Signed, Made, point):
            assert converted(cls, 5) == making(cls, 5)
            assert converted(cls, -5) == making(cls, -5)
    for value in (5, 2):
        for cls in (Plain, Signed, Made, point):
            found = staged(cls, rt.constant(value))
            assert [(name, {k: int(v) for k, v in fields.items()}) for name, fields in found] == making(cls, value)
    assert converted(Made, 7) == making(Made, 7)


def test_classes_and_methods_that_change_after_they_stood_for_themselves(monkeypatch):
    def call(cls, p, by):
        return [Plain(3).x, point(4).x, cls(5).x, Plain(6).moved(by), p.moved(by), Plain(p.x, y=0).both]

    converted = ag.convert(call)

    def made():
        p = Plain(1)
        if own is not None:
            p.moved = own
        return p

    def same(by):
        staged = rt.function(call)
        return converted(point, made(), by) == call(point, made(), by) and [
            int(v) for v in staged(point, made(), rt.constant(by))[:5]] == call(point, made(), by)[:5]

    def clamped(self, x, y=7):
        if x > 4:
            x = 4
        self.x, self.y = x, y

    def halved(self, by):
        return self.x - by if by > 3 else self.x // 2

    own = None
    for _ in range(12):
        assert converted(point, made(), 2) == call(point, made(), 2)
    assert same(2)
    monkeypatch.setattr(Plain, "__init__", clamped)
    monkeypatch.setattr(Plain, "moved", halved)
    assert same(2) and same(5)
    own = lambda by: 100 if by > 3 else 200
    assert same(2) and same(5)
    own = None
    monkeypatch.undo()
    assert same(2)
    monkeypatch.setattr(Plain.__init__, "__defaults__", (50,))
    monkeypatch.setattr(point, "__new__", lambda cls, x: SimpleNamespace(x=-x))
    for _ in range(3):
        assert same(2)


def test_special_methods_of_what_a_known_call_makes_are_staged():
    def deep(x):
        return one(x)

    def one(x):
        return two(x)

    def two(x):
        return made_deep(x)

    staged = rt.function(deep)
    for _ in range(3):
        assert ag.convert(deep)(3) == 2
    assert [int(staged(rt.constant(v))) for v in (0, 3)] == [deep(0), deep(3)] == [1, 2]


def made_deep(x):
    return made_deeper(x)


def made_deeper(x):
    module = sys.modules[__name__]
    return module.Signed(x) + module.Signed(1)


def test_an_own_name_for_a_builtin(monkeypatch):
    def call(items):
        return len(items), len([1, 2]), max(items, 3), sum([items])

    converted = ag.convert(call)
    module = call.__globals__
    items = [5, 6]
    monkeypatch.setitem(module, "max", lambda a, b: ("own", a, b))
    monkeypatch.setitem(module, "sum", lambda a: "own sum")
    assert converted(items) == (2, 2, ("own", items, 3), "own sum")
    monkeypatch.setitem(module, "len", lambda a: "own len")
    assert converted(items) == ("own len", "own len", ("own", items, 3), "own sum")
    for name in ("max", "sum", "len"):
        monkeypatch.delitem(module, name)
    with pytest.raises(TypeError, match="not supported between"):
        converted(items)


def test_a_name_or_attribute_that_is_bound_anew(monkeypatch):
    def call(account):
        return clip(12), account.grown(), Account(3).balance, sites_of.f(2)

    converted = ag.convert(call)
    account = Account(9)
    for _ in range(2):
        assert converted(account) == (10, 18, 3, 4)
    monkeypatch.setitem(call.__globals__, "clip", lambda x: x)
    monkeypatch.setattr(sites_of, "f", lambda x: -x)
    assert converted(account) == (12, 18, 3, -2)
    monkeypatch.setattr(Account, "grown", lambda self: "patched")
    assert converted(account) == (12, "patched", 3, -2)
    other = Account(1)
    account.grown = lambda: "own"
    assert converted(account)[1] == "own"
    account.grown = other.grown  # another object's method, of the same function
    assert converted(account)[1] == "patched"
    del account.grown
    monkeypatch.undo()
    assert converted(account) == (10, 18, 3, 4)
    account.grown = other.grown
    assert converted(account)[1] == other.grown() == 1


sites_of = SimpleNamespace(f=lambda x: 2 * x)


def test_defaults_that_are_assigned(monkeypatch):
    def call(account):
        return clip(-5), account.grown(), Account(6).grown()

    converted = ag.convert(call)
    account = Account(9)
    for _ in range(2):
        assert converted(account) == (0, 18, 12)
    monkeypatch.setattr(clip, "__defaults__", (-2,))
    monkeypatch.setattr(Account.grown, "__kwdefaults__", {"more": 100})
    monkeypatch.setattr(Account.__init__, "__defaults__", (3,))
    assert converted(account) == call(account) == (-2, 118, 118)
    monkeypatch.setattr(Account.grown, "__defaults__", (10,))
    assert converted(account) == call(account) == (-2, 280, 280)


def test_a_class_that_changes(monkeypatch):
    class Point:
        def __init__(self, x):
            self.x = x

    def call():
        return Point(3).x, PLACE(4).x  # noqa: F821

    monkeypatch.setitem(call.__globals__, "PLACE", Point)
    converted = ag.convert(call)
    for _ in range(2):
        assert converted() == (3, 4)
    Point.__init__ = lambda self, x: setattr(self, "x", -x)
    assert converted() == (-3, -4)
    Point.__new__ = lambda cls, x: SimpleNamespace(x="new")
    assert converted() == ("new", "new")


class Odd:
    def __init__(self):
        return "something"


def test_an_init_that_returns_something():
    converted = ag.convert(lambda: Odd())
    for _ in range(3):
        with pytest.raises(TypeError, match=r"^__init__\(\) should return None, not 'str'$"):
            converted()


@pytest.mark.parametrize("account, error", [
    (SimpleNamespace(grown=3), "'int' object is not callable"),
    (3, "'int' object has no attribute 'grown'"),
])
def test_what_cannot_be_called(account, error):
    converted = ag.convert(lambda account: account.grown())
    assert converted(Account(9)) == 18
    for _ in range(2):
        with pytest.raises((TypeError, AttributeError)) as raised:
            converted(account)
        assert str(raised.value) == error
        assert [entry.name for entry in raised.traceback][1:] == ["<lambda>"]


def test_receivers_and_closures_are_not_kept():
    def call(make, drop):
        account = make(8)
        account.grown()
        account.items = []
        account.items.append(3)
        gone = weakref.ref(account)
        account = None
        first = gone() is None
        callback = drop()
        callback()
        gone = weakref.ref(callback)
        callback = None
        return first, gone() is None

    def drop():
        held = Account(1)
        return lambda: held.balance

    converted = ag.convert(call)
    for _ in range(3):
        assert converted(Account, drop) == (True, True)


def test_functions_are_given_up_when_others_are_called_after_a_full_collection():
    module, others = SimpleNamespace(), [SimpleNamespace(), SimpleNamespace()]
    exec(compile("def double(x):\n    return 2 * x\n", __file__, "exec"), vars(module), vars(module))
    call = ag.convert(lambda: made_elsewhere(4))  # noqa: F821
    call.__globals__["made_elsewhere"] = ag.do_not_convert(module.double)
    assert call() == 8
    gone = weakref.ref(module.double)
    del module.double, call.__globals__["made_elsewhere"]
    for other in others:  # first calls give it up, then what stands for it
        gc.collect()
        exec(compile("def triple(x):\n    return 3 * x\n", __file__, "exec"), vars(other), vars(other))
        call.__globals__["made_elsewhere"] = ag.do_not_convert(other.triple)
        assert [call() for _ in range(20)] == [12] * 20
    del call.__globals__["made_elsewhere"]
    gc.collect()
    assert gone() is None


def test_code_with_sites_is_kept_as_it_was_compiled():
    code = ag.convert(kinds_of_calls).__code__
    with pytest.raises(ValueError, match="unmarshallable"):
        marshal.dumps(code)
    again = inline_caches.embed(marshal.loads(marshal.dumps(inline_caches.extract(code))))
    assert [type(c) for c in again.co_consts] == [type(c) for c in code.co_consts]
    assert any(type(c) is inline_caches.Site for c in code.co_consts) and type in code.co_consts


def test_an_installed_module_compiles_without_warnings(tmp_path):
    (tmp_path / "callers.py").write_text("def f(o):\n    return o.m(len(o.x)) is (1,)\n")
    program = "import autograph; autograph.install('callers'); import callers"
    child = subprocess.run([sys.executable, "-W", "always", "-c", program], cwd=tmp_path, capture_output=True,
                           text=True)
    plain = subprocess.run([sys.executable, "-W", "always", "-c", "import callers"], cwd=tmp_path, capture_output=True,
                           text=True)
    assert child.returncode == 0, child.stderr
    assert child.stderr.count("SyntaxWarning") == plain.stderr.count("SyntaxWarning") == 1


@pytest.mark.skipif(sys.version_info < (3, 11), reason="operator.call is new in 3.11: there a builtin takes a detour")
def test_nothing_of_the_tool_runs_once_callees_are_known():
    converted = ag.convert(plain_calls)
    seen: list[str] = []

    def profile(frame, event, arg):
        if event == "call" and "/autograph/" in frame.f_code.co_filename:
            seen.append(frame.f_code.co_name)

    for _ in range(2):
        seen.clear()
        sys.setprofile(profile)
        try:
            result = converted(3)
        finally:
            sys.setprofile(None)
        assert result == plain_calls(3)
    assert seen == []


def plain_calls(x):
    account = Account(6, 2)
    items = [x]
    items.append(account.grown(2))
    items.append(int(str(x)))
    return clip(x) + account.grown() + len(items) + abs(-1) + sum(items) + getattr(account, "grown")(2)


def added(x):
    return x + 1


def halved(x, by=2):
    return x // by


def calls_both(x):
    return added(x) + halved(x, 2)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the interpreter specialises nothing")
def test_the_interpreter_specialises_calls_of_converted_functions():
    def quick(fn):
        for _ in range(1000):
            fn(4)
        found = [i.opname for i in dis.get_instructions(fn, adaptive=True)]
        return found.count("CALL_PY_EXACT_ARGS")

    assert quick(ag.convert(calls_both)) == quick(calls_both) == 2


def test_converted_functions_have_the_attributes_of_their_own():
    def outer():
        cell = 3

        def inner(x, y=[1], *, z=2):
            """Its text."""
            return x + cell if x > 0 else y, z

        return inner

    for fn in (outer(), halved, added, clip):
        converted = ag.convert(fn)
        assert converted.__defaults__ is fn.__defaults__ and converted.__kwdefaults__ == fn.__kwdefaults__
        assert (converted.__name__, converted.__qualname__) == (fn.__name__, fn.__qualname__)
        assert (converted.__doc__, converted.__module__) == (fn.__doc__, fn.__module__)
        assert converted.__globals__ is fn.__globals__
    assert ag.convert(outer())(4) == (7, 2)


def codes_in(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def test_converted_code_has_a_hash():
    """What is embedded in code are constants of it."""
    def everything(x, items):
        return len(items), clip(x), Account(x), (lambda: x)(), "".join(item.strip() for item in items)

    codes = list(codes_in(ag.convert(everything).__code__))
    constants = [constant for code in codes for constant in code.co_consts]
    assert any(constant is backend.python for constant in constants)
    assert any(type(constant) is inline_caches.Site for constant in constants)
    assert len(set(codes)) == len(codes)
