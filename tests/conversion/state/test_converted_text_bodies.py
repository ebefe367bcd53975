"""The bodies in the text of a converted module are parts of the user's functions: in names, errors and tracebacks."""
from __future__ import annotations

import contextlib
import gc
import io
import sys
import textwrap
import traceback
from typing import Any

import pytest

import autograph as ag


def loaded(text: str) -> dict[str, Any]:
    """The names of a module that is the converted text."""
    namespace: dict[str, Any] = {"__name__": "converted"}
    exec(compile(ag.convert_source(textwrap.dedent(text), "m.py"), "converted.py", "exec"), namespace)
    return namespace


UNBOUND = """\
    def f(n):
        for i in range(n):
            if i > 1:
                print(late)
        late = n

    def g(n):
        while n:
            n -= 1 if early else 2
        early = n

    def outer():
        def inner(n):
            if n:
                return late
        found = inner(1)
        late = 1
"""


@pytest.mark.parametrize("name, variable", [("f", "late"), ("g", "early")])
def test_an_unbound_variable_is_a_local_one(name: str, variable: str) -> None:
    module = loaded(UNBOUND)
    with pytest.raises(UnboundLocalError) as caught:
        module[name](3)
    expected = (f"cannot access local variable '{variable}' where it is not associated with a value"
                if sys.version_info >= (3, 11) else f"local variable '{variable}' referenced before assignment")
    assert str(caught.value) == expected and caught.value.__context__ is None
    assert {entry.name for entry in traceback.extract_tb(caught.value.__traceback__)[1:]} == {name}


def test_an_unbound_variable_of_a_function_around_stays_a_free_one() -> None:
    with pytest.raises(NameError) as caught:
        loaded(UNBOUND)["outer"]()
    assert type(caught.value) is NameError and "free variable 'late'" in str(caught.value)


def test_a_handler_in_a_branch_catches_it() -> None:
    module = loaded("""\
        def f(n):
            if n:
                try:
                    n = late
                except UnboundLocalError as error:
                    return type(error).__name__
            late = n
        """)
    assert module["f"](1) == "UnboundLocalError"


def test_a_context_manager_sees_it() -> None:
    module = loaded("""\
        def f(manager):
            with manager:
                print(late)
            late = 1
        """)
    seen: list[Any] = []

    class Manager:
        def __enter__(self) -> None:
            pass

        def __exit__(self, kind: Any, error: Any, entries: Any) -> bool:
            seen.append(kind)
            return True

    module["f"](Manager())
    assert seen == [UnboundLocalError]


def test_recursion_has_room() -> None:
    module = loaded("""\
        def f(n):
            for i in range(1):
                if n > 0:
                    return f(n - 1) + 1
            return 0
        """)
    assert module["f"](150) == 150


DEFAULTS = """\
    def walrus(n):
        def f(a=(d := n), *, b=(e := d + 1) if n else 0):
            return a, b

        g = n and (lambda a=(k := n): a) or (lambda a=(k := -1), *, b=(j := 5): a + b)
        return f(), d, e if n else 0, g(), k

    def own_frame(n):
        late = 1 if n else 2

        def f(names=sorted(locals())):
            return names

        return f()

    def bases(n):
        class C(*(lambda: (dict,) if n else ())(), **(lambda: {"metaclass": type} if n else {})()):
            def m(self, choose=lambda x: "yes" if x else "no"):
                return choose(n)

        return C().m(), issubclass(C, dict)
"""


@pytest.mark.parametrize("n", [0, 3])
def test_defaults_and_bases_belong_to_the_function_around(n: int) -> None:
    module = loaded(DEFAULTS)
    original: dict[str, Any] = {}
    exec(textwrap.dedent(DEFAULTS), original)
    for name in ("walrus", "own_frame", "bases"):
        assert module[name](n) == original[name](n), name
    text = ag.convert_source(textwrap.dedent(DEFAULTS))
    assert 'choose=lambda x: ag__.if_exp(x, lambda: "yes", lambda: "no")' in text
    assert "(lambda: ag__.if_exp(n, lambda: (dict,), lambda: ()))()" in text


def test_an_exception_goes_with_its_handler() -> None:
    class Noted:
        def __del__(self) -> None:
            print("gone")

    module = loaded("""\
        def f(noted):
            try:
                raise ValueError(noted())
            except ValueError as error:
                found = type(error)
            print("after", found.__name__)
        """)
    gc.disable()
    try:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            module["f"](Noted)
    finally:
        gc.enable()
    assert out.getvalue() == "gone\nafter ValueError\n"
