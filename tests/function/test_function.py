"""rt.function: traces, their keys, retracing, methods, threads, errors."""
from __future__ import annotations

import copy
import gc
import inspect
import pickle
import re
import sys
import threading
import traceback
import warnings
import weakref
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import autograph as ag
import runtime as rt

HERE = re.escape(__file__)


def traced(fn):
    return fn.experimental_get_tracing_count()


# --- What tells calls apart ---------------------------------------------------------------------------------


def test_one_trace_for_each_dtype_and_shape():
    @rt.function
    def f(x):
        return x + x

    f(rt.constant(1))
    f(rt.constant(2))
    assert traced(f) == 1
    f(rt.constant(1.0))
    f(rt.constant([1]))
    assert traced(f) == 3
    f(np.int32(3))  # a NumPy value is a tensor
    f(np.array([4], np.int32))
    assert traced(f) == 3


@pytest.mark.filterwarnings("ignore::runtime.RetracingWarning")
def test_python_values_are_told_apart_by_type_and_value():
    @rt.function
    def f(x, y):
        return x

    for y in (1, 1.0, True, "1", b"1", None, (1,), [1], {"k": 1}, 1j, 0.0, -0.0, ..., slice(0, 1), frozenset([1])):
        f(rt.constant(1), y)
    assert traced(f) == 15
    f(rt.constant(1), float("nan"))
    f(rt.constant(1), float("nan"))
    f(rt.constant(1), slice(0, 1))
    f(rt.constant(1), {"k": 1})
    assert traced(f) == 16


def test_defaults_keywords_and_varargs_are_brought_into_one_order():
    @rt.function
    def f(a, b=2, *rest, c=3, **others):
        return a * b + c, rest, others

    one = rt.constant(1)
    assert f(one)[0] == 5
    f(one, 2)
    f(a=one, b=2)
    f(one, c=3)
    assert traced(f) == 1
    result, rest, others = f(one, 2, one, x=one, y=4)
    assert result == 5 and rest[0] == 1 and others["x"] == 1 and others["y"] == 4
    f(one, 2, one, y=4, x=one)
    assert traced(f) == 2


Pair = namedtuple("Pair", "left right")


@dataclass
class State:
    h: object
    step: int = 0


@dataclass(frozen=True)
class Frozen:
    h: object


def test_structures_go_in_and_come_out():
    @rt.function
    def f(pair, state, frozen, d):
        items = [d["b"], (d["a"],)]
        return Pair(pair.right, pair.left), State(state.h + 1, state.step + 1), Frozen(frozen.h * 2), items

    x = rt.constant(3)
    pair, state, frozen, items = f(Pair(x, 1), State(x), Frozen(x), {"b": x, "a": None})
    assert isinstance(pair, Pair) and pair.left == 1 and int(pair.right) == 3
    assert isinstance(state, State) and int(state.h) == 4 and state.step == 1
    assert isinstance(frozen, Frozen) and int(frozen.h) == 6
    assert int(items[0]) == 3 and items[1] == (None,)
    f(Pair(x, 1), State(x), Frozen(x), {"b": x, "a": None})
    assert traced(f) == 1
    f(Pair(x, 1), State(x, 1), Frozen(x), {"b": x, "a": None})
    assert traced(f) == 2
    f(Pair(x, 1), State(x, 1), Frozen(x), {"a": None, "b": x})  # which code may iterate over in this order
    assert traced(f) == 3


def test_an_argument_that_is_mutated_is_the_callers():
    @rt.function
    def f(items):
        items.append(rt.constant(5))
        return items

    for _ in range(2):
        mine = [rt.constant(1)]
        assert f(mine) is mine
        assert [int(item) for item in mine] == [1, 5]


def test_objects_count_by_identity_and_are_not_kept_alive():
    class Config:
        factor = 3

    @rt.function
    def f(x, config):
        return x * config.factor

    config = Config()
    x = rt.constant(2)
    assert f(x, config) == 6
    f(x, config)
    assert f.cache_info().currsize == 1
    f(x, other := Config())
    assert f.cache_info().currsize == 2
    gone = weakref.ref(config)
    del config
    gc.collect()
    assert gone() is None
    assert f.cache_info().currsize == 1
    assert f(x, other) == 6 and traced(f) == 2


def test_a_tensor_array_is_an_argument():
    @rt.function
    def f(ta):
        return ta.write(0, 5)

    ta = rt.TensorArray(rt.int32, size=2, element_shape=[])
    made = f(ta.write(1, 7))
    np.testing.assert_array_equal(made.stack(), [5, 7])


# --- Results ------------------------------------------------------------------------------------------------


def test_python_values_come_out_as_they_are():
    marker = object()

    @rt.function
    def f(x):
        return {"x": x, "n": 3, "s": "text", "none": None, "o": marker}

    result = f(rt.constant(1))
    assert result["n"] == 3 and result["s"] == "text" and result["none"] is None and result["o"] is marker


def test_a_result_list_is_new_each_time():
    @rt.function
    def f(x):
        return [x, 1]

    first = f(rt.constant(1))
    first.append(2)
    assert len(f(rt.constant(1))) == 2


def test_none_in_one_branch():
    @rt.function
    def f(x):
        y = None
        if x > 0:
            y = x
        return y

    assert f(rt.constant(1)) == 1
    assert f(rt.constant(-1)) is None

    @rt.function
    def g(x):
        return f(x)

    assert g(rt.constant(5)) == 5 and g(rt.constant(-5)) is None


def test_a_result_that_may_be_unbound_raises():
    @rt.function
    def f(x):
        if x > 0:
            y = x
        return y

    assert f(rt.constant(1)) == 1
    with pytest.raises(UnboundLocalError):
        f(rt.constant(-1))


def test_an_array_that_is_passed_in_is_not_shared():
    @rt.function
    def f(x):
        return x

    mine = np.array([1.0, 2.0], np.float32)
    result = f(mine)
    mine[0] = 9
    assert result[0] == 1.0


# --- Retracing ----------------------------------------------------------------------------------------------


def test_shapes_relax_at_the_third():
    @rt.function
    def f(x):
        return rt.reduce_sum(x)

    for n in range(1, 9):
        assert f(rt.ones([n, 2])) == 2 * n
    assert traced(f) == 3
    assert f.pretty_printed_concrete_signatures() == (
        "f(x: float32[1,2]) -> float32[]\nf(x: float32[2,2]) -> float32[]\nf(x: float32[?,2]) -> float32[]")
    f(rt.ones([2]))
    assert traced(f) == 4  # another rank


def test_reduce_retracing_relaxes_at_the_second():
    @rt.function(reduce_retracing=True)
    def f(x):
        return x

    for n in range(5):
        f(rt.ones([n]))
    assert traced(f) == 2
    assert rt.function(lambda x: x, experimental_relax_shapes=True).reduce_retracing


def test_a_function_that_needs_its_dimensions_keeps_them():
    @rt.function
    def f(x):
        s = x[0]
        for i in range(1, x.shape[0]):
            s += x[i]
        return s

    for n in range(1, 6):
        assert f(rt.ones([n])) == n
    assert traced(f) == 5


def test_explain_says_which_argument_differed():
    @rt.function
    def f(x, mode):
        return x

    assert f.explain() == "f: 0 calls, traced 0 times, 0 traces kept\n    it was not called yet"
    f(rt.constant([1.0]), "train")
    assert f.explain() == (
        "f: 1 call, traced 1 time, 1 trace kept\n    the last call was traced: there was no trace yet")
    f(rt.constant([1.0]), "train")
    assert f.explain() == "f: 2 calls, traced 1 time, 1 trace kept\n    the last call used a trace that was there"
    f(rt.constant([1.0]), "test")
    assert f.explain() == (
        "f: 3 calls, traced 2 times, 2 traces kept\n"
        "    the last call was traced: argument 'mode' is 'test', and was 'train' before")


def test_python_numbers_that_keep_changing_are_warned_of_once():
    @rt.function
    def f(x, n):
        return rt.reshape(x, [1] * n)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(8):
            f(rt.constant(1), n)
    (warning,) = caught
    assert warning.category is rt.RetracingWarning and warning.filename == __file__
    assert re.fullmatch(
        rf"{HERE}:\d+: f was traced 5 times because argument 'n' is another Python number each time\n"
        r" +\d+ \|             f\(rt\.constant\(1\), n\)\n +\^\n"
        r"Pass a tensor, for example rt\.constant\(n\): then one trace serves all values\.", str(warning.message))


@pytest.mark.filterwarnings("error")
def test_numbers_that_change_within_one_trace_are_not_warned_of():
    @rt.function
    def part(x, n):
        return x[n]

    f = rt.function(lambda x: [part(x, n) for n in range(8)])
    assert [int(x) for x in f(rt.range(8))] == list(range(8))


def test_the_cache_is_bounded_and_drops_the_one_not_used_for_longest():
    @rt.function(max_traces=2)
    def f(x, mode):
        return x

    x = rt.constant(1)
    with pytest.warns(rt.RetracingWarning, match="f has more than 2 traces, mostly because argument 'mode' differs"):
        for mode in ("a", "b", "a", "c"):
            f(x, mode)
    assert f.cache_info() == (1, 3, 2, 2)
    f(x, "a")
    assert traced(f) == 3
    f(x, "b")
    assert traced(f) == 4


def test_cache_clear():
    @rt.function
    def f(x):
        return x

    f(rt.constant(1))
    f.cache_clear()
    assert f.cache_info().currsize == 0
    f(rt.constant(1))
    assert traced(f) == 2


def test_traces_go_with_the_function():
    @rt.function
    def f(x):
        return x

    f(rt.constant(1))
    gone = weakref.ref(f.concrete_functions[0])
    del f
    gc.collect()
    assert gone() is None


# --- Concrete functions -------------------------------------------------------------------------------------


def test_a_concrete_function():
    @rt.function
    def f(x, n=3, flags=(True,)):
        return {"y": x * n, "n": n}

    c = f.get_concrete_function(rt.TensorSpec([None, 2], rt.float32, "xs"))
    assert c.pretty_printed_signature() == "f(x: float32[?,2], n=3, flags=(True,)) -> {'n': 3, 'y': float32[?,2]}"
    assert repr(c) == f"<ConcreteFunction {c.pretty_printed_signature()}>"
    assert c.structured_input_signature == ((rt.TensorSpec([None, 2], rt.float32, "xs"), 3, (True,)), {})
    assert c.structured_outputs == {"y": rt.TensorSpec([None, 2], rt.float32), "n": 3}
    c.graph.verify()
    assert str(c.graph).startswith("graph f(xs: float32[?,2]) -> (float32[?,2]) {")
    np.testing.assert_array_equal(c(rt.ones([1, 2]))["y"], [[3, 3]])
    assert c(rt.ones([1, 2]), 3, (True,))["n"] == 3
    f(rt.ones([5, 2]))  # fits this trace
    assert traced(f) == 1


def test_a_concrete_function_says_what_it_does_not_take():
    @rt.function
    def f(x, n=3):
        return x * n

    c = f.get_concrete_function(rt.TensorSpec([2], rt.float32))
    with pytest.raises(TypeError, match=(
            rf"^{HERE}:\d+: argument 'n' of f is 4, but this trace was made for 3\n(.*\n)+"
            "Leave it out, or call the function itself, which traces for other values.$")):
        c(rt.ones([2]), 4)
    with pytest.raises(ValueError, match=r": argument 'x' of f is float32\[3\], but this trace takes float32\[2\]\n"):
        c(rt.ones([3]))
    with pytest.raises(TypeError, match=r": argument 'x' of f is int32\[2\], but this trace takes float32\[2\]\n"):
        c(rt.constant([1, 2]))
    with pytest.raises(TypeError, match=r": f\(x: float32\[2\], n=3\) -> float32\[2\]: missing argument 'x'"):
        c()


# --- input_signature ----------------------------------------------------------------------------------------


@rt.function(input_signature=[rt.TensorSpec([None], rt.float32), rt.TensorSpec([], rt.int32)])
def scaled(x, n):
    return x * rt.cast(n, rt.float32)


def test_input_signature_means_one_trace_and_converts():
    assert scaled([1, 2], 3).numpy().tolist() == [3.0, 6.0]
    assert scaled(np.ones(3, np.float32), n=2).numpy().tolist() == [2.0] * 3
    assert traced(scaled) == 1
    assert scaled.get_concrete_function() is scaled.concrete_functions[0]


@pytest.mark.parametrize(("args", "error", "what"), [
    (([1.0],), TypeError, "scaled takes 2 arguments by its input_signature, but 1 was given"),
    (([1.0], 2, 3), TypeError, "scaled takes 2 arguments by its input_signature, but 3 were given"),
    (([1.0], 2.5), TypeError, "argument 'n' of scaled is float32[], but its input_signature says int32[]"),
    ((1.0, 2), ValueError, "argument 'x' of scaled is float32[], but its input_signature says float32[?]"),
    (("text", 2), TypeError, "argument 'x' of scaled is 'text', but its input_signature says float32[?]"),
])
def test_arguments_that_do_not_fit_the_input_signature(args, error, what):
    with pytest.raises(error, match=rf"^{HERE}:\d+: {re.escape(what)}\n +\d+ \|         scaled\(\*args\)\n +\^\n"):
        scaled(*args)


def test_a_shape_that_does_not_fit_the_input_signature_is_an_error_of_types_and_of_values():
    for error in TypeError, ValueError, rt.errors.ShapeError:
        with pytest.raises(error, match="its input_signature says"):
            scaled(1.0, 2)


def test_the_full_text_of_an_input_signature_error():
    with pytest.raises(TypeError) as info:
        scaled(rt.constant([1]), 2)
    line = inspect.currentframe().f_lineno - 1
    assert str(info.value) == (
        f"{__file__}:{line}: argument 'x' of scaled is int32[1], but its input_signature says float32[?]\n"
        f"    {line} |         scaled(rt.constant([1]), 2)\n"
        f"{' ' * (len(str(line)) + 7)}        ^\n"
        "Cast it: rt.cast(x, rt.float32); or change the input_signature.")


def test_input_signature_of_structures_methods_and_unknown_rank():
    @rt.function(input_signature=({"a": rt.TensorSpec([], rt.int32), "b": [rt.TensorSpec(None, rt.float32)]},))
    def f(d):
        return rt.cast(d["a"], rt.float32) + d["b"][0]

    assert f({"a": 1, "b": [2.0]}) == 3.0
    assert f({"a": 1, "b": [rt.constant([2.0])]}).numpy().tolist() == [3.0]
    with pytest.raises(TypeError, match="argument 'd' of f does not have the structure of its input_signature"):
        f([1])

    class Model:
        @rt.function(input_signature=[rt.TensorSpec([], rt.float32)])
        def __call__(self, x):
            return x * 2

    assert Model()(2) == 4.0


def test_a_bad_input_signature():
    with pytest.raises(TypeError, match="input_signature of f must hold rt.TensorSpec objects"):
        rt.function(lambda x: x, input_signature=[rt.int32], name="f")(1)
    with pytest.raises(ValueError, match=r"input_signature of f\(x\) does not fit its parameters: too many"):
        rt.function(lambda x: x, input_signature=[rt.TensorSpec([])] * 2, name="f")(1, 2)


# --- Python around it ---------------------------------------------------------------------------------------


def test_lists_from_before_change_at_each_call_and_prints_stage(capsys):
    seen = []

    @rt.function
    def f(x):
        seen.append(1)
        print("x is", x)
        return x

    f(rt.constant(1))
    f(rt.constant(2))
    assert seen == [1, 1]
    assert capsys.readouterr().out == "x is 1\nx is 2\n"


def test_an_exception_while_tracing_leaves_nothing_behind():
    fail = True

    @rt.function
    def f(x):
        y = x + 1
        if fail:
            raise KeyError("not now")
        return y

    with pytest.raises(KeyError, match="not now"):
        f(rt.constant(1))
    assert rt.executing_eagerly() and f.cache_info().currsize == 0
    fail = False
    assert f(rt.constant(1)) == 2


def test_tracebacks_show_only_the_users_lines():
    @rt.function
    def f(x):
        return helper(x)

    def helper(x):
        return x + rt.constant([1.0])

    with pytest.raises(TypeError) as info:
        f(rt.constant([1]))
    files = {frame.filename for frame in traceback.extract_tb(info.tb)}
    assert files == {__file__}

    @rt.function
    def g(x):
        return 7 // x

    g(rt.constant(1))
    with pytest.raises(ZeroDivisionError) as info:
        g(rt.constant(0))
    assert [frame.name for frame in traceback.extract_tb(info.tb)] == [
        inspect.currentframe().f_code.co_name, "g"]
    assert ": in" not in str(info.value) and f"{__file__}:" in str(info.value) and "return 7 // x" in str(info.value)


def test_run_functions_eagerly_runs_the_python_function():
    seen = []

    @rt.function
    def f(x):
        seen.append(x)
        return x + 1

    f(rt.constant(1))
    rt.config.run_functions_eagerly(True)
    try:
        assert rt.config.functions_run_eagerly() and rt.config.experimental_functions_run_eagerly()
        f(rt.constant(5))
        f(rt.constant(6))
    finally:
        rt.config.experimental_run_functions_eagerly(False)
    assert [int(x) for x in seen[1:]] == [5, 6]


def test_a_debugger_stops_in_a_function_that_runs_eagerly():
    @rt.function
    def f(x):
        y = x + 1
        return y

    code, values = f.python_function.__code__, []

    def trace(frame, event, arg):
        if frame.f_code is code and event == "return":
            values.append(int(frame.f_locals["y"]))
        return trace

    rt.config.run_functions_eagerly(True)
    old = sys.gettrace()
    sys.settrace(trace)
    try:
        f(rt.constant(1))
    finally:
        sys.settrace(old)
        rt.config.run_functions_eagerly(False)
    assert values == [2]


def test_autograph_off():
    @rt.function(autograph=False)
    def f(x):
        if x > 0:
            return x
        return -x

    with pytest.raises(rt.errors.OperatorNotAllowedInGraphError):
        f(rt.constant(1))


def test_it_is_the_function_it_decorates():
    @rt.function
    def f(x: int, y: int = 2) -> int:
        """Doc."""
        return x + y

    assert f.__name__ == "f" and f.__doc__ == "Doc." and f.__wrapped__ is f.python_function
    assert str(inspect.signature(f)) == "(x: 'int', y: 'int' = 2) -> 'int'"
    assert inspect.getfullargspec(f).args == ["x", "y"]
    assert repr(f).startswith("<rt.function ")
    assert "return x + y" in ag.to_code(f)


def or_zero(x):
    if x is None:
        return 0
    return x


def test_what_is_none_is_asked_of_the_graph():
    def found(xs, limit):
        value = None
        for x in xs:
            if x > limit:
                value = x
        return or_zero(value)

    converted, xs = ag.convert(found), rt.constant([1, 5, 2])
    for _ in range(2):
        assert [converted([1, 5, 2], limit) for limit in (3, 9)] == [5, 0]
        assert [int(rt.function(found)(xs, rt.constant(limit))) for limit in (3, 9)] == [5, 0]
    for fn in or_zero, ag.convert(or_zero), rt.function(or_zero):
        assert "ag__.cond(ag__.is_none(x), if_true, if_false, 'return_')" in ag.to_code(fn)
        assert ag.explain(fn).decisions[0].staged


def test_a_closure_that_was_made_before_its_state_could_be_none():
    def momentum(rate):
        velocity = None

        def step(p):
            nonlocal velocity
            if velocity is None:
                velocity = rt.zeros_like(p)
            velocity = 0.5 * velocity + p
            return p - rate * velocity

        return step

    def train(p, n):
        step = momentum(0.1)
        for _ in range(n):
            p = step(p)
        return p

    for n in 3, 0:
        p = rt.constant([1.0, -2.0])
        np.testing.assert_allclose(rt.function(train)(p, rt.constant(n)), train(p, n), rtol=1e-6)


def test_an_executor_that_there_is_not_names_the_line():
    line = inspect.currentframe().f_lineno
    with pytest.raises(ValueError) as info:
        @rt.function(executor="abacus")
        def f(x):
            return x

    assert str(info.value) == (
        f"{__file__}:{line + 2}: no executor 'abacus': there are 'native', 'numpy'\n"
        f"{line + 2:>7} |         @rt.function(executor=\"abacus\")\n"
        f"{' ' * (19 if sys.version_info >= (3, 11) else 18)}^\n"
        "Take one of these, or name none: then it is the best one here.")
    with pytest.raises(ValueError, match=rf"{HERE}:{line + 12}: no executor 'abacus'"):
        rt.config.set_default_executor("abacus")


def test_arguments_of_the_decorator():
    assert rt.function(lambda x: x + 1, jit_compile=True, experimental_implements="f")(rt.constant(1)) == 2
    with pytest.raises(TypeError, match=rf"{HERE}:\d+: function\(\) got an unexpected keyword argument 'colour'\n"):
        rt.function(lambda x: x, colour=1)
    with pytest.raises(ValueError, match=rf"{HERE}:\d+: max_traces must be at least 1, not 0\n"):
        rt.function(lambda x: x, max_traces=0)
    with pytest.raises(TypeError, match=rf"{HERE}:\d+: an input_signature is a list of rt.TensorSpec objects, not 3\n"):
        rt.function(lambda x: x, input_signature=3)
    what = "rt.function takes a function, method or callable object"
    with pytest.raises(TypeError, match=rf"{HERE}:\d+: {what}, not 3\n"):
        rt.function(3)
    with pytest.raises(TypeError, match=r"not the class 'Model'\n(.*\n)+Decorate its methods\."):
        rt.function(Model)
    with pytest.raises(TypeError, match=r"f\(x\): missing a required argument: 'x'"):
        rt.function(lambda x: x, name="f")()


def test_what_cannot_be_traced():
    def generate(x):
        if x > 0:
            yield x

    with pytest.raises(ag.UnsupportedError) as info:
        rt.function(generate)(rt.constant(1))
    line = generate.__code__.co_firstlineno
    assert str(info.value) == (
        f"{__file__}:{line}: 'generate' is a generator function, which cannot be traced: it runs piece by piece, "
        f"outside of the trace\n    {line} |     def generate(x):\n"
        "Trace the functions that it calls; or collect what it yields in a list and return that.")
    with pytest.raises(ag.UnsupportedError, match="'max' is written in C"):
        rt.function(max)(rt.constant(1), 2)


def test_strings_of_numpy_are_python_values():
    @rt.function
    def f(x, mode, names):
        return x if mode == "keep" and names[0] == "a" else -x

    names = np.array(["a", "b"])
    assert f(rt.constant(1), np.str_("keep"), names) == 1 and f(rt.constant(1), "drop", names) == -1


def test_an_endless_loop_can_be_interrupted():
    v = rt.Variable(0)

    @rt.function
    def f(x):
        while x > 0:
            v.assign_add(1)
            if v > 50:
                rt.py_function(interrupt, [], [])
        return x

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        f(rt.constant(1))
    assert v.numpy() == 51 and rt.executing_eagerly()
    assert f(rt.constant(0)) == 0


# --- Methods ------------------------------------------------------------------------------------------------


class Model:
    def __init__(self, factor):
        self.factor = factor

    @rt.function
    def __call__(self, x):
        return x * self.factor

    @rt.function
    def method(self, x):
        return x + self.factor

    @staticmethod
    @rt.function
    def static(x):
        return x - 1

    @classmethod
    @rt.function
    def made(cls, x):
        return x, cls.__name__

    @property
    @rt.function
    def prop(self):
        return rt.constant(self.factor)


def test_methods_have_a_cache_for_each_instance():
    a, b = Model(2), Model(3)
    x = rt.constant(5)
    assert a(x) == 10 and b(x) == 15 and a.method(x) == 7 and b.method(x) == 8
    assert a.method(x) == 7 and a.method.cache_info() == (1, 1, 64, 1)
    assert a.method.cache_info().hits == 1 and traced(b.method) == 1 and traced(Model.method) == 0
    assert a.method == a.method and a.method != b.method and len({a.method, a.method}) == 1
    assert Model.method(a, x) == 7
    assert Model.static(x) == 4 and a.static(x) == 4
    assert a.made(x)[1] == "Model" and a.prop == 2
    bound = Model(4).method
    assert bound(x) == 9  # it keeps its instance


def test_methods_do_not_keep_instances_alive():
    model = Model(2)
    model(rt.constant(1))
    model.method(rt.constant(1))
    gc.collect()  # of instances of other tests
    before = len(Model.method._methods)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None and len(Model.method._methods) == before - 1


def test_methods_of_objects_without_weak_references():
    class Slotted:
        __slots__ = ("k",)

        @rt.function
        def f(self, x):
            return x + self.k

    s = Slotted()
    s.k = 3
    assert s.f(rt.constant(1)) == 4 and s.f(rt.constant(2)) == 5


def test_callable_objects_partials_and_lambdas():
    import functools

    class Adder:
        def __call__(self, x):
            if x > 0:
                return x + 1
            return x

    assert rt.function(Adder())(rt.constant(1)) == 2
    assert rt.function(functools.partial(lambda a, b: a - b, rt.constant(5)))(rt.constant(2)) == 3
    assert rt.function(Model(3).method)(rt.constant(2)) == 5


# --- Functions in functions ---------------------------------------------------------------------------------


def test_functions_called_while_tracing_become_part_of_the_graph(capsys):
    @rt.function
    def inner(x):
        print("inner", x)
        if x > 0:
            return x, "positive"
        return -x, "positive"

    @rt.function
    def outer(x):
        print("before")
        y, text = inner(x)
        print("between")
        z, _ = inner(y)
        return y + z, text

    total, text = outer(rt.constant(-2))
    assert total == 4 and text == "positive"
    assert capsys.readouterr().out == "before\ninner -2\nbetween\ninner 2\n"
    outer.concrete_functions[0].graph.verify()
    inner(rt.constant(3))
    assert traced(inner) == 1  # one trace serves both


def test_a_function_that_closes_over_a_tensor_of_the_graph():
    @rt.function
    def outer(x):
        y = x * 2

        @rt.function
        def inner(z):
            return z + y

        def through(z):
            return inner(z)

        total = rt.constant(0)
        for row in x:
            total += inner(row)[0] + rt.function(through)(row)[0]
        return total

    assert outer(rt.constant([1, 2])) == 2 * (1 + 2 + 2 * 2)


def test_a_function_that_finds_a_tensor_of_the_graph_elsewhere():
    box = {}

    @rt.function
    def inner(z):
        return z + box["y"]

    @rt.function
    def outer(x):
        box["y"] = x * 2
        return inner(x)

    assert outer(rt.constant(1)) == 3


@pytest.mark.filterwarnings("ignore::runtime.RetracingWarning")
def test_recursion_on_a_python_value_ends():
    @rt.function
    def power(x, n):
        return x * power(x, n - 1) if n > 0 else rt.constant(1)

    assert power(rt.constant(2), 5) == 32


def test_a_function_that_calls_itself_where_a_tensor_decides():
    @rt.function
    def fact(n):
        if n <= 1:
            return 1
        return n * fact(n - 1)

    assert fact(rt.constant(5)) == 120 and fact(rt.constant(1)) == 1 and traced(fact) == 1


def test_recursion_without_end_is_an_error_and_no_hang():
    @rt.function
    def fact(n):
        return n * fact(n - 1)

    with pytest.raises(rt.errors.StagingError) as info:
        fact(rt.constant(5))
    assert re.fullmatch(
        rf"{HERE}:\d+: 'fact' calls itself again and again: no condition decides whether it does, so this recursion "
        r"has no end\n +\d+ \|         return n \* fact\(n - 1\)\n +\^\n"
        "Let a condition return without the call.", str(info.value))
    with pytest.raises(rt.errors.StagingError):
        fact(rt.constant(5))


# --- Threads ------------------------------------------------------------------------------------------------


def run_threads(n, target):
    errors = []

    def guarded(i):
        try:
            target(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,), daemon=True) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    assert errors == []


def test_threads_share_one_trace():
    @rt.function
    def f(x):
        for _ in range(5):
            x = x + 1
        return x

    results = {}

    def call(i):
        results[i] = [int(f(rt.constant(k))) for k in range(i, i + 20)]

    run_threads(8, call)
    assert traced(f) == 1
    assert all(results[i] == [k + 5 for k in range(i, i + 20)] for i in range(8))


def test_threads_that_trace_each_others_functions_do_not_lock_up():
    barrier = threading.Barrier(2, timeout=10)

    @rt.function
    def f(x, n):
        if n == 0:
            return x
        meet(n)
        return g(x, n - 1) + 1

    @rt.function
    def g(x, n):
        if n == 0:
            return x
        meet(n)
        return f(x, n - 1) + 1

    met = set()

    def meet(n):
        if n == 2 and threading.get_ident() not in met:
            met.add(threading.get_ident())
            barrier.wait()

    x = rt.constant(0)
    results = []
    run_threads(2, lambda i: results.append(int((f, g)[i](x, 2))))
    assert results == [2, 2]


def test_threads_add_up_in_a_variable():
    v = rt.Variable(0)

    @rt.function
    def f():
        v.assign_add(1)

    run_threads(4, lambda i: [f() for _ in range(200)])
    assert v.numpy() == 800


# --- Values of the outside ----------------------------------------------------------------------------------


class Odd:
    """An object that could tell that it was copied."""

    def __init__(self, value):
        self.value = value

    def __copy__(self):
        raise TypeError("not twice")


def test_a_tensor_that_leaks_is_an_error_that_says_where_it_was_made():
    leaked = []

    @rt.function
    def f(x):
        leaked.append(Odd(x + 1))
        return x

    f(rt.constant(1))
    made = r"belongs to graph 'f' \(made at .*test_function.py:\d+"
    with pytest.raises(rt.errors.InaccessibleTensorError, match=made):
        leaked[0].value + 1


class Meter:
    def __init__(self):
        self.all = []

    def step(self, x):
        self.all.append(Odd(2 * x))
        return x


@pytest.mark.parametrize("use", [int, float, bool, abs, np.asarray, lambda x: [1, 2][x], lambda x: range(x)])
def test_a_tensor_that_an_object_keeps_says_what_to_do(use):
    meter = Meter()
    rt.function(meter.step)(rt.constant(1))
    with pytest.raises(rt.errors.InaccessibleTensorError) as info:
        use(meter.all[0].value)
    first, *_, remedy = str(info.value).split("\n")
    made = f"{__file__}:{Meter.step.__code__.co_firstlineno + 1} in step"
    assert first.endswith(f": the tensor (int32[]) belongs to graph 'step' (made at {made}) and is used outside of it")
    assert remedy == "Return it from the function or body that makes it, or keep it in an rt.Variable."


def test_init_scope_lifts_out_of_the_trace():
    values = []

    @rt.function
    def f(x):
        with rt.init_scope():
            assert rt.executing_eagerly()
            values.append(rt.constant(2) + 3)
        return x + values[0]

    assert f(rt.constant(1)) == 6
    assert values[0].numpy() == 5


def test_eager_tensors_of_the_outside_are_captured():
    w = rt.constant([1.0, 2.0])

    @rt.function
    def f(x):
        if x > 0:
            return w * x
        return w

    assert f(rt.constant(2.0)).numpy().tolist() == [2.0, 4.0]


@rt.function
def negated_at_top_level(x):
    if x > 0:
        return -x
    return x


@ag.convert
def converted_at_top_level(x):
    if x > 0:
        return -x
    return x


@pytest.mark.parametrize("fn", [negated_at_top_level, converted_at_top_level])
def test_pickled_and_copied_as_a_python_function_is(fn):
    assert pickle.loads(pickle.dumps(fn)) is fn is copy.deepcopy(fn) is copy.copy(fn)

    @rt.function
    def local(x):
        return x

    with pytest.raises((AttributeError, pickle.PicklingError), match="local"):
        pickle.dumps(local)


def test_what_may_raise_is_kept_though_nobody_uses_it():
    def ops(fn, *args):
        return {node.op.name for node in rt.function(fn).get_concrete_function(*args).graph.walk()}

    def counted(xs, ys):
        n = 0
        for x in xs:
            for i in range(n):
                xs[i]
            n += 1
        for x, y in zip(xs, ys):
            n += 1
        return n

    spec = rt.TensorSpec([None], rt.int32)
    assert "getitem" in ops(counted, spec, spec), "range(n) is not the number of rows"
    assert "getitem" not in ops(lambda xs, ys: [1 for x, y in zip(xs, ys)], spec, spec), "the rows of a loop are there"
    assert "floordiv" in ops(lambda x, y: [x // y] and x, rt.constant(1), rt.constant(2))
    assert "floordiv" not in ops(lambda x: [x // 2] and x, rt.constant(1)), "which cannot raise"


def test_a_concrete_function_keeps_its_python_arguments() -> None:
    """As in TF 2: the tensors alone are enough."""
    @rt.function
    def f(options, x, y):
        return options["k"] * x - y

    traced = f.get_concrete_function({"k": 2.0}, rt.TensorSpec([]), rt.TensorSpec([]))
    x, y = rt.constant(3.0), rt.constant(1.0)
    assert float(traced(x, y)) == float(traced({"k": 2.0}, x, y)) == float(traced(x=x, y=y)) == 5.0
    with pytest.raises(rt.errors.DTypeError):
        traced(x, rt.constant(1))
    with pytest.raises(TypeError):
        traced(x)
    with pytest.raises(TypeError, match="this trace was made for"):
        traced({"k": 3.0}, x, y)


def test_python_numbers_that_are_returned_are_tensors():
    f = rt.function(lambda x: x + 1)
    assert f(2).numpy() == 3 and f(2).dtype is rt.int32
    assert f(1.5).dtype is rt.float32 and f(2j).dtype is rt.complex128
    assert rt.function(lambda x: not x)(True).dtype is rt.bool
    assert f(2**40).dtype is rt.int64 and f(2**70) == 2**70 + 1 and type(f(2**70)) is int


def test_python_numbers_in_structures_are_tensors_and_other_values_are_not():
    class Point(NamedTuple):
        x: object
        y: object

    class Plain:
        def __init__(self, n):
            self.n = n

    @rt.function
    def f(n):
        return Point(n, [n, {3: n, "text": "s"}]), None, Plain(n), (lambda: n)

    point, none, plain, closure = f(5)
    assert point.x.numpy() == point.y[0].numpy() == point.y[1][3].numpy() == 5
    assert point.y[1]["text"] == "s" and [*point.y[1]] == [3, "text"] and none is None
    assert type(plain.n) is int and type(closure()) is int


def test_python_numbers_stay_in_arguments_and_in_calls_within_a_trace():
    @rt.function
    def count(xs):
        xs.append(len(xs))
        return len(xs)

    mine = [7]
    assert count(mine).numpy() == 2
    assert mine == [7, 1] and type(mine[1]) is int

    @rt.function
    def half(n):
        return rt.zeros([count([n, n])]) + count([n]) * 0.5

    np.testing.assert_array_equal(half(1).numpy(), [1.0, 1.0, 1.0])


def test_a_trace_is_compiled_when_it_is_called_first_and_once() -> None:
    inner = rt.function(lambda x: x * 2.0)
    outer = rt.function(lambda x: inner(x) + inner(x + 1.0))
    assert outer(rt.constant(1.0)).numpy() == 6.0
    (part,), (whole,) = inner.concrete_functions, outer.concrete_functions
    assert part._compiled is None and whole._compiled is not None  # `inner` is a part of `outer`
    concrete = rt.function(lambda x: rt.sin(x) * 3.0).get_concrete_function(rt.TensorSpec([None]))
    results: list[float] = []
    made = []

    def call() -> None:
        results.append(float(concrete(rt.ones([2]))[0]))
        made.append(concrete._compiled)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 1 and len(results) == 8 and len(set(map(id, made))) == 1
    ahead = rt.function(lambda x: x + 1).lower(rt.constant(1))
    assert ahead._compiled is not None and ahead.compile() is ahead


def test_what_a_concrete_function_returns_and_uses() -> None:
    weight, count = rt.Variable([1.0, 2.0]), rt.Variable(0, trainable=False)

    @rt.function
    def f(x):
        count.assign_add(1)
        for _ in rt.range(2):
            x = x + weight
        return {"x": x, "more": (rt.shape(x), None)}

    concrete = f.get_concrete_function(rt.TensorSpec([None, 2], rt.float32))
    assert concrete.output_shapes == {"x": [None, 2], "more": ([2], None)}
    assert concrete.output_dtypes == {"x": rt.float32, "more": (rt.int32, None)}
    assert [id(v) for v in concrete.variables] == [id(count), id(weight)]
    assert [id(v) for v in concrete.trainable_variables] == [id(weight)]
