"""Test the tester: an operator or a pass that is subtly wrong makes the programs disagree."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import pytest
from programs import Program, load
from ways import EXACT, difference, reference, run

from autograph import operators
from autograph.analysis import scopes as names
from autograph.frontend import tree
from autograph.passes import expressions, functionalize, jumps
from autograph.state.statement_state import State
from runtime.core.op import REGISTRY
from runtime.staging.backend import BACKEND

PROGRAMS = load()
FIRST = (
    "absolute", "three_ways", "count_down", "none_in_one_branch", "none_is_tested_not", "sum_until_negative",
    "code_after_break_test", "prime_by_for_else", "return_from_while",
    "return_with_finally_print", "return_from_except", "guarded_division", "chained_comparison", "ternary",
    "assert_passes_or_fails", "list_item_constant_index", "alias_of_list", "closure_sees_later_assignment")
"""Programs that see most of the faults, which are tried before all others."""


def disagreement(program: Program, way: str) -> str | None:
    """What comes out different of the program, converted anew."""
    fresh = renewed(program)
    for arguments in program.arguments:
        try:
            got = difference(reference(program, arguments), run(fresh, way, arguments), exact=way in EXACT)
        except Exception as error:  # the planted fault broke conversion itself
            got = str(error)
        if got is not None:
            return got
    return None


FOUND: list[tuple[Program, str]] = []
"""What the test that runs found, and the way."""


def seen(way: str = "shown") -> bool:
    """Whether a program disagrees."""
    ordered = (PROGRAMS[name] for name in dict.fromkeys([*FIRST, *PROGRAMS]))
    found = next((p for p in ordered if p.applies(way) and disagreement(p, way) is not None), None)
    if found is not None:
        FOUND.append((found, way))
    return found is not None


@pytest.fixture(autouse=True)
def agrees_without_the_fault() -> Iterator[None]:
    """The program that showed the fault agrees when it is gone; `test_programs` holds all of them to that."""
    FOUND.clear()
    yield
    assert [disagreement(*found) for found in FOUND] == [None] * len(FOUND)


def renewed(program: Program) -> Program:
    """The program over a new code object, so that no earlier conversion of it is reused."""
    fn: Any = program.fn
    made = FunctionType(fn.__code__.replace(), fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    made.__kwdefaults__, made.__qualname__, made.__module__ = fn.__kwdefaults__, fn.__qualname__, fn.__module__
    return Program(made, program.arguments, program.without)


# --- Operators ----------------------------------------------------------------------------------------------

real_cond, real_while, real_reduce = operators.cond, operators.while_loop, operators.reduce


def cond_swapped(pred: Any, if_true: Any, if_false: Any, *state: str) -> None:
    real_cond(pred, if_false, if_true, *state)


def cond_runs_both(pred: Any, if_true: Any, if_false: Any, *state: str) -> None:
    if if_true is not None and if_false is not None and not pred:
        if_true()
    real_cond(pred, if_true, if_false, *state)


def cond_without_else(pred: Any, if_true: Any, if_false: Any, *state: str) -> None:
    real_cond(pred, if_true, None, *state)


def while_once_too_few(test: Callable[[], Any], body: Callable[[], Any], *state: str, **options: Any) -> None:
    count = 0

    def limited() -> Any:
        nonlocal count
        count += 1
        return test() and count < 5

    real_while(limited, body, *state, **options)


def while_tests_last(test: Callable[[], Any], body: Callable[[], Any], *state: str, **options: Any) -> None:
    body()
    real_while(test, body, *state, **options)


def reduce_ignores_break(iterable: Any, body: Any, *state: str, test: Any = None, **options: Any) -> None:
    real_reduce(iterable, body, *state, **options)


def reduce_loses_state(iterable: Any, body: Any, *state: str, test: Any = None, **options: Any) -> None:
    variables = State(state, body, test)
    before = variables.read()
    real_reduce(iterable, body, *state, test=test, **options)
    if len(before) > 1:
        variables.write((before[0], *variables.read()[1:]))


def reduce_skips_last(iterable: Any, body: Any, *state: str, test: Any = None, **options: Any) -> None:
    items = list(iterable)
    real_reduce(items[:-1] if len(items) > 2 else items, body, *state, test=test, **options)


def and_eager(value: Any, *others: Callable[[], Any]) -> Any:
    values = [value, *(other() for other in others)]
    return next((v for v in values if not v), values[-1])


OPERATORS = {
    "cond runs the other branch": ("cond", cond_swapped),
    "cond runs both branches": ("cond", cond_runs_both),
    "cond forgets else": ("cond", cond_without_else),
    "while stops early": ("while_loop", while_once_too_few),
    "while runs its body first": ("while_loop", while_tests_last),
    "for ignores break": ("reduce", reduce_ignores_break),
    "for loses the first variable": ("reduce", reduce_loses_state),
    "for skips the last item": ("reduce", reduce_skips_last),
    "and evaluates its right side": ("and_", and_eager),
    "or is and": ("or_", operators.and_),
    "not is identity": ("not_", lambda value: value),
    "ternary takes the other value": ("if_exp", lambda p, then, orelse: orelse() if p else then()),
    "assert passes": ("assert_", lambda test, message=None: None),
    "item assignment is lost": ("setitem", lambda target, index, value: target),
    "x is None is never so": ("is_none", lambda value: False),
}


@pytest.mark.parametrize("fault", OPERATORS)
def test_wrong_operator_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, wrong = OPERATORS[fault]
    monkeypatch.setattr(operators, name, wrong)
    assert seen()


# --- The runtime --------------------------------------------------------------------------------------------

Kernel = Callable[..., Any]


def other_branch(real: Kernel) -> Kernel:
    return lambda pred, **branches: real(not pred, **branches)


def one_iteration_less(real: Kernel) -> Kernel:
    def kernel(*operands: Any, test: Kernel, body: Kernel, limited: bool = False) -> Any:
        once = iter([True])

        def shorter(*state: Any) -> Any:
            return test(*state) if not next(once, False) else (test(*body(*state))[0] and test(*state)[0],)

        return real(*operands, test=shorter, body=body, limited=limited)

    return kernel


def without_test(real: Kernel) -> Kernel:
    return lambda *operands, test=None, **params: real(*operands, **params)


def does_nothing(real: Kernel) -> Kernel:
    return lambda *operands, **params: ()


KERNELS = {
    "cond takes the other branch": ("cond", other_branch),
    "while runs one iteration less": ("while_loop", one_iteration_less),
    "for ignores its test": ("reduce", without_test),
    "print is lost": ("print", does_nothing),
    "an unbound variable is read": ("check_bound", does_nothing),
    "raise goes on": ("raise", does_nothing),
    "less is less or equal": ("less", lambda real: REGISTRY["less_equal"].kernel),
    "add is subtract": ("add", lambda real: REGISTRY["subtract"].kernel),
    "floordiv truncates": ("floordiv", lambda real: lambda x, y: (x / y).astype(x.dtype)),
    "append prepends": ("list_append", lambda real: lambda items, item: (item, *items)),
}


@pytest.fixture
def kernel(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a fault in `KERNELS`, planted in its record while the test runs."""
    name, wrong = KERNELS[request.param]
    record = REGISTRY[name]
    real = record.kernel
    object.__setattr__(record, "kernel", wrong(real))
    yield name
    object.__setattr__(record, "kernel", real)


@pytest.mark.parametrize("kernel", KERNELS, indirect=True)
def test_wrong_kernel_is_seen(kernel: str) -> None:
    assert seen("staged")


STAGING: dict[str, tuple[str, Callable[..., Any]]] = {
    "cond swaps its branches": ("cond", lambda real: lambda p, t, f, init, names: real(p, f, t, init, names)),
    "cond loses its state": ("cond", lambda real: lambda p, t, f, init, names: (real(p, t, f, init, names), init)[1]),
    "while loses its state": ("while_loop", lambda real: lambda t, b, init, *rest: (real(t, b, init, *rest), init)[1]),
    "for forgets to be left": ("reduce", lambda real: lambda xs, body, test, *rest: real(xs, body, None, *rest)),
    "ternary takes the other value": (
        "if_exp", lambda real: lambda p, then, orelse, *state: (
            real(p, then, orelse, *state) if None in (then, orelse) else real(p, orelse, then, *state))),
    "and is or": ("if_exp", lambda real: lambda p, then, orelse, *state: (
        real(p, orelse, then, *state) if orelse is None else real(p, then, orelse, *state))),
    "not is identity": ("operation", lambda real: lambda name, *operands: (
        operands[0] if name == "not_" else real(name, *operands))),
    "assert passes": ("assert_", lambda real: lambda test, message: None),
    "x is None is never so": ("operation", lambda real: lambda name, *operands: (
        False if name == "is_" and operands[1] is None else real(name, *operands))),
}


@pytest.mark.parametrize("fault", STAGING)
def test_wrong_staging_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, wrong = STAGING[fault]
    monkeypatch.setattr(BACKEND, name, wrong(getattr(BACKEND, name)))
    assert seen("staged")


# --- Passes -------------------------------------------------------------------------------------------------


def forget_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that only nested functions read are taken for temporaries."""
    original = names.Scope.__init__

    def init(self: names.Scope, *args: Any) -> None:
        original(self, *args)
        self.shared = set()

    monkeypatch.setattr(names.Scope, "__init__", init)


def no_liveness_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a loop leaves behind is taken for dead."""
    original = functionalize.annotate

    def annotate(body: list[Any], *rest: Any) -> None:
        original(body, *rest)
        for node in tree.own_nodes(body):
            if isinstance(node, tree.LOOPS) and hasattr(node, "live_head"):
                node.live_head = node.head_gen

    monkeypatch.setattr(functionalize, "annotate", annotate)


def break_is_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    """`break` sets the flag of `continue`."""
    original = jumps._Lowering.jump

    def jump(self: Any, node: Any, ctx: Any) -> Any:
        if not ctx.native_loop and isinstance(node, jumps.gast.Break):
            node = jumps.gast.copy_location(jumps.gast.Continue(), node)
        return original(self, node, ctx)

    monkeypatch.setattr(jumps._Lowering, "jump", jump)


def rest_is_not_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows a possible jump runs all the same."""

    def unless(self: Any, flags: Any, rest: Any, origin: Any) -> Any:
        self.tested |= flags
        test = jumps.gast.copy_location(jumps.gast.Constant(True, None), origin)
        node = jumps.gast.copy_location(jumps.gast.If(test, rest, []), origin)
        node.python, node.maybe_none = None, frozenset()
        return node

    monkeypatch.setattr(jumps._Lowering, "unless", unless)


def chain_keeps_one_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """`a < b < c` is taken for `a < b`."""

    def chain(self: Any, left: Any, ops: Any, rest: Any, origin: Any) -> Any:
        return expressions.gast.copy_location(expressions.gast.Compare(left, ops[:1], rest[:1]), origin)

    owner = next(cls for cls in vars(expressions).values() if isinstance(cls, type) and hasattr(cls, "chain"))
    monkeypatch.setattr(owner, "chain", chain)


@pytest.mark.parametrize(
    "plant", [forget_shared, no_liveness_after, break_is_continue, rest_is_not_guarded, chain_keeps_one_comparison],
    ids=lambda f: f.__name__,
)
def test_wrong_pass_is_seen(plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert seen()
