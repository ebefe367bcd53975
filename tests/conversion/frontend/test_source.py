"""Source wherever it is, and source that is bad, odd or deep: it converts, or it fails with a position."""
from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import linecache
import os
import py_compile
import subprocess
import sys
import zipfile
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any
from unittest import mock

import pytest

import autograph as ag
from autograph.frontend import source as capture
from autograph.frontend.nesting_depth import deepest_line
from autograph.tools.import_hook import check_module

ROOT = str(Path(__file__).resolve().parents[3])


def run(*arguments: str, stdin: str = "", code: int = 0) -> str:
    result = subprocess.run([sys.executable, "-B", *arguments], input=stdin, capture_output=True, text=True,
                            env={**os.environ, "PYTHONPATH": ROOT, "PYTHONIOENCODING": "utf-8"}, timeout=60)
    assert result.returncode == code, result.stderr
    return result.stdout


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names: list[str] = []

    def loaded(name: str, data: bytes | str) -> ModuleType:
        (tmp_path / f"{name}.py").write_bytes(data.encode() if isinstance(data, str) else data)
        importlib.invalidate_caches()
        names.append(name)
        return importlib.import_module(name)

    yield loaded
    ag.uninstall()
    for name in names:
        sys.modules.pop(name, None)


def registered(text: str) -> FunctionType:
    name = f"<source {len(linecache.cache)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    namespace: dict[str, Any] = {}
    exec(compile(text, name, "exec"), namespace)
    found: FunctionType = namespace["f"]
    return found


# --- Where source is ---

SIGN = "def f(x):\n    if x > 0:\n        return 1\n    return -1\n"
SESSION = (f"import autograph as ag\n{SIGN}\ntry:\n    print(ag.convert(f)(2))\n"
           "except ag.NoSourceError as error:\n    print(error)")


def test_command_line() -> None:
    out = run("-c", SESSION)
    assert out == "1\n"


def test_code_that_a_command_makes() -> None:
    """Its file is <string>, as is that of the command, whose text Python 3.13 keeps."""
    out = run("-c", f"import autograph as ag\nexec({SIGN!r})\ntry:\n    ag.convert(f)\n"
              "except ag.NoSourceError as error:\n    print(error)")
    assert out.startswith("<string>:1: no source text for 'f'\nPut the function in a file")


def test_standard_input_without_source_tells_the_remedy() -> None:
    out = run("-", stdin=SESSION)
    assert out == "1\n" or "autograph.convert_source" in out


def test_doctest(tmp_path: Path) -> None:
    body = "".join(f"{'>>> ' if i == 0 else '... '}{line}\n" for i, line in enumerate(SIGN.splitlines()))
    file = tmp_path / "session.txt"
    file.write_text(f">>> import autograph as ag\n{body}...\n>>> ag.convert(f)(-3)\n-1\n")
    run("-m", "doctest", str(file))


def test_zip_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("packed_module.py", SIGN)
    monkeypatch.syspath_prepend(str(tmp_path / "packed.zip"))
    module = importlib.import_module("packed_module")
    assert ag.convert(module.f)(-2) == -1
    del sys.modules["packed_module"]
    ag.install("packed_module")
    try:
        assert importlib.import_module("packed_module").f(3) == 1
    finally:
        ag.uninstall()
        del sys.modules["packed_module"]


def test_notebook_cells() -> None:
    pytest.importorskip("IPython", reason="IPython is not installed")
    cells = ("from IPython.core.interactiveshell import InteractiveShell\nshell = InteractiveShell.instance()\n"
             f"shell.run_cell({SIGN!r})\nshell.run_cell('import autograph as ag; print(ag.convert(f)(2))')")
    assert "1" in run("-c", cells)


def test_lambdas_among_others() -> None:
    f, g = (lambda x: 1 if x else 2), (lambda x: 3 if x else 4)
    h = (lambda x: (lambda y: x if y else -x))(5)
    table = dict(
        a=lambda x:
            x and 7, b=lambda x: x or 8)
    assert [ag.convert(f)(1), ag.convert(g)(1), ag.convert(h)(0)] == [1, 3, -5]
    assert ag.convert(table["a"])(1) == 7 and ag.convert(table["b"])(0) == 8


# --- Bad and odd source ---


def test_no_source_but_bytecode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "only_bytecode.py"
    source.write_text(SIGN)
    py_compile.compile(str(source), str(tmp_path / "only_bytecode.pyc"))
    source.unlink()
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("only_bytecode")
    with pytest.raises(ag.NoSourceError, match="no source text for 'f'"):
        ag.convert(module.f)
    del sys.modules["only_bytecode"]
    ag.install("only_bytecode")
    try:
        with pytest.raises(ag.NoSourceError, match="no source text for module 'only_bytecode'"):
            importlib.import_module("only_bytecode")
    finally:
        ag.uninstall()
    assert "only_bytecode" not in sys.modules


@pytest.mark.parametrize("changed", [
    SIGN.replace("return 1", "return 7"), SIGN.replace("> 0", ">= 0"), f"\n{SIGN}", SIGN.replace("(x)", "(y)"), "x = (",
])
def test_source_that_changed_after_import(load: Any, tmp_path: Path, changed: str) -> None:
    module = load("changing_module", SIGN)
    (tmp_path / "changing_module.py").write_text(changed)
    linecache.checkcache()
    with pytest.raises(ag.ConversionError, match=r"changing_module\.py:\d: .*(changed since|syntax error)"):
        ag.convert(module.f)


@pytest.mark.parametrize("text", ["<p>{{ x }}</p>\n", "{% if x %}\nyes\n{% endif %}\n"])
def test_code_that_names_another_text_as_its_file(tmp_path: Path, text: str) -> None:
    """As template engines do: such a function is called as it is."""
    template = tmp_path / "page.html"
    template.write_text(text)
    namespace: dict[str, Any] = {}
    exec(compile("\n\ndef root(x):\n    return 1 if x else 2\n", str(template), "exec"), namespace)
    root = namespace["root"]

    def page(x: int) -> int:
        return root(x) if x < 5 else 0  # type: ignore[no-any-return]

    assert [ag.convert(page)(x) for x in (0, 1, 7)] == [2, 1, 0]
    with pytest.raises(ag.NoSourceError, match=r"page\.html:3: no source text for 'root': the file is not the Python "
                                               r"text that it was compiled from\n(.*\n)?Put the function in a file"):
        ag.convert(root)


def test_source_that_changed_elsewhere_converts(load: Any, tmp_path: Path) -> None:
    module = load("growing_module", SIGN)
    (tmp_path / "growing_module.py").write_text(f"{SIGN}\ndef g():\n    pass\n")
    linecache.checkcache()
    assert ag.convert(module.f)(1) == 1


def test_code_that_was_given_another_name_converts(load: Any) -> None:
    text = "def f(x):\n    return 1 if x > 0 else 2\na, b = lambda x: 3 if x > 0 else 4, lambda x: 5 if x > 0 else 6\n"
    module = load("renaming_module", text)
    for function, found in (module.f, [1, 2]), (module.b, [5, 6]):
        function.__code__ = function.__code__.replace(co_name="other")
        converted = ag.convert_traced(function)
        assert [converted(1), converted(-1)] == found
        assert converted.__code__.co_name == "other" and converted is not function


def test_code_that_is_not_that_of_the_text_has_no_source_under_another_name(load: Any) -> None:
    module = load("replaced_module", SIGN)
    module.f.__code__ = (lambda y: y).__code__.replace(
        co_name="other", co_filename=module.f.__code__.co_filename, co_firstlineno=1)
    with pytest.raises(ag.StaleSourceError, match=r"replaced_module\.py:1: the source of 'f' is not on this line"):
        ag.convert(module.f)


@pytest.mark.parametrize("data", [
    SIGN.replace("    ", "\t").encode(), SIGN.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + SIGN.encode(),
    b"\x0c\n" + SIGN.replace("    return -1", "\x0c    return -1").encode(),
    b"# -*- coding: latin-1 -*-\ns = '\xe9'\n" + SIGN.encode(),
    SIGN.replace("x", "величина").encode(), SIGN.replace("x", "変数").encode(),
])
@pytest.mark.parametrize("installed", [False, True])
def test_tabs_line_ends_encodings_and_scripts(load: Any, data: bytes, installed: bool) -> None:
    if installed:
        ag.install("odd_module")
    module = load("odd_module", data)
    assert [ag.convert(module.f)(x) for x in (3, -3)] == [1, -1]


def test_a_decorator_that_raises(load: Any) -> None:
    ag.install("raising_module")
    with pytest.raises(ZeroDivisionError):
        load("raising_module", f"@(lambda f: 1 / 0)\n{SIGN}")
    assert "raising_module" not in sys.modules


@pytest.mark.parametrize("text, message", [
    ("x = (\n", r"bad_module.py:1: syntax error"), ("return 1\n", r"bad_module.py:1: syntax error: 'return' outside"),
    ("def f():\n    x = 1\n    global x\n", r"bad_module.py:3: syntax error: name 'x' is assigned to before global"),
    ("# coding: no-such\n", r"bad_module.py:1: the source cannot be read"),
])
def test_a_module_that_does_not_parse_is_not_half_imported(load: Any, text: str, message: str) -> None:
    ag.install("bad_module")
    with pytest.raises(ag.ConversionError, match=message):
        load("bad_module", text)
    assert "bad_module" not in sys.modules


@pytest.mark.parametrize("text, lineno, col, what", [
    ("break\n", 1, 0, "'break' outside loop"),
    ("def f(x):\n    if x:\n        continue\n    return 2\n", 3, 8, "'continue' not properly in loop"),
    ("return 1\n", 1, 0, "'return' outside function"),
    ("class A:\n    x = yield\n", 2, 8, "'yield' outside function"),
    ("def f():\n    await g()\n", 2, 4, "'await' outside async function"),
    ("nonlocal x\n", 1, 0, "nonlocal declaration not allowed at module level"),
    ("def f():\n    nonlocal x\n", 2, 4, "no binding for nonlocal 'x' found"),
    ("def f():\n    x = 1\n    global x\n", 3, 4, "name 'x' is assigned to before global declaration"),
    ("'größer'; break\n", 1, 10, "'break' outside loop"),
])
def test_what_only_the_compiler_refuses(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, lineno: int, col: int, what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("refused.py").write_text("# another text\n" * 9)  # the error of Python would show its line
    for convert in ag.convert_source, check_module, ag.explain_source:
        with pytest.raises(ag.ConversionError) as caught:
            convert(text, "refused.py")
        assert str(caught.value) == (
            f"refused.py:{lineno}: syntax error: {what}\n    {lineno} | {text.splitlines()[lineno - 1]}\n"
            f"        {' ' * col}^\nCorrect the source, then convert again.")


# --- Deep and long ---

DEEP = {
    "early returns": "def f(x):\n" + "".join(f"    if x == {i}:\n        return {i + 1}\n" for i in range(400))
    + "    return -1\n",
    "elif": "def f(x):\n    if x < 0:\n        return 0\n"
    + "".join(f"    elif x == {i}:\n        y = {i + 1}\n" for i in range(400))
    + "    else:\n        y = -1\n    return y\n",
    "match": "def f(x):\n    match x:\n"
    + "".join(f"        case {i}:\n            y = {i + 1}\n" for i in range(400))
    + "        case _ if x > 500:\n            y = -2\n        case _:\n            return -1\n    return y\n",
    "continue": "def f(x):\n    n = 0\n    for i in range(x):\n"
    + "".join(f"        if i == {i}:\n            continue\n        n += {i}\n" for i in range(60)) + "    return n\n",
    "blocks": "def f(x):\n" + "".join(f"{' ' * (i + 1)}if x > {i}:\n" for i in range(90))
    + f"{' ' * 91}x += 1\n return x\n",
    "sum": f"def f(x):\n    return {' + '.join(['x'] * 900)}\n",
    "and": f"def f(x):\n    return {' and '.join(['x'] * 900)}\n",
    "conditional": "def f(x):\n    return " + "".join(f"{i} if x == {i} else " for i in range(90)) + "-1\n",
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_source_converts(name: str) -> None:
    f = registered(DEEP[name])
    converted = ag.convert(f)
    printed: dict[str, Any] = {}
    exec(ag.convert_source(DEEP[name]), printed)
    for x in (-1, 0, 1, 17, 59, 95, 399, 1000):
        assert converted(x) == f(x) == printed["f"](x)


@pytest.mark.parametrize("convert", [ag.convert_source, check_module, lambda text, _: ag.convert(registered(text))])
def test_deep_source_converts_in_silence(convert: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def f(x):\n    if x < 0:\n        return 0\n" + "".join(
        f"    elif x == {i}:\n        y = {i + 1}\n" for i in range(900)) + "    return y\n"
    said: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    thresholds = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        with contextlib.suppress(ag.ConversionError):  # Python 3.12 has no room for it
            convert(text, "deep.py")
    finally:
        gc.set_threshold(*thresholds)
    assert not said


TOO_DEEP = {
    "operators": "\n\ndef f(x):\n    y = 2\n    return " + "-" * 80_000 + "x\n",
    "brackets": "\n\ndef f(x):\n    y = (2)\n    return " + "(" * 150 + "x" + ")" * 150 + "\n",
    "additions": "\n\ndef f(x):\n    y = 2\n    return x" + " + x" * 30_000 + "\n",
    "blocks": "\nif x:\n if x:\n  if x:\n   def f(x):\n    return " + "~" * 90_000 + "x\n",
}


@pytest.mark.parametrize("name", TOO_DEEP)
def test_what_is_too_deep_says_where(name: str) -> None:
    text = TOO_DEEP[name]
    for convert in (ag.convert_source, check_module):
        try:
            convert(text, "deep.py")  # newer interpreters have room for more
        except ag.ConversionError as error:
            assert error.lineno == (6 if name == "blocks" else 5)
            if "too deeply" in error.what:
                assert str(error).startswith(f"deep.py:{error.lineno}: the source is nested too deeply")
                assert str(error).splitlines()[1] in (
                    "Python cannot compile it either.", "Split its most deeply nested function.")
        else:
            assert name != "operators"


def test_the_deepest_line() -> None:
    assert deepest_line("x = 1\ny = [[(x)]]\nz = [1]\n") == 2
    assert deepest_line("x = 1\nif x:\n    while x:\n        y = x +\nz = ((1))\n") == 4
    assert deepest_line("") == 1


def test_a_null_byte_is_found() -> None:
    with pytest.raises(ag.ConversionError) as caught:
        ag.convert_source("x = 1\n\ny = '\0'\n", "null.py")
    assert str(caught.value) == "null.py:3: the source holds a null byte\nPython cannot compile it either."
    with pytest.raises(ag.ConversionError, match=r"^half\.py:2: the source cannot be encoded: "):
        ag.convert_source("x = 1\ny = '\ud800'\n", "half.py")


# --- Packages ---


def test_install(load: Any) -> None:
    with pytest.raises(ValueError, match="'a-b' is not the dotted name"):
        ag.install("a-b")
    with pytest.raises(ValueError, match="does not convert itself"):
        ag.install("autograph.printing.to_code")
    with pytest.warns(RuntimeWarning, match="textwrap is imported already"):
        ag.install("textwrap")
    ag.install("installed_module")
    module = load("installed_module", '"""Doc."""\nfrom __future__ import annotations\n\nimport autograph\n\n\n'
                  f"{SIGN}\n\n@autograph.do_not_convert\ndef g(x: int = 3):\n    return 1 if x else 2\n\n\n"
                  "class K:\n    __secret = 4\n\n    def m(self):\n        if self.__secret:\n"
                  "            raise ValueError(super().__init__)\n\n\nfs = [lambda: i for i in range(3)]\n")
    assert module.__doc__ == "Doc." and module.f(2) == 1 and module.f.__code__.co_firstlineno == 7
    assert module.g.__annotations__ == {"x": "int"} and module.g.__defaults__ == (3,)
    assert [f() for f in module.fs] == [2, 2, 2] and ag.convert(module.f)(3) == 1
    assert "ag__.cond(x > 0" in ag.to_code(module.f)
    with pytest.raises(ValueError) as caught:
        module.K().m()
    assert [entry.lineno for entry in caught.traceback][-1:] == [22]
    ag.uninstall()
    assert not any(type(f).__module__ == "autograph.tools.import_hook" for f in sys.meta_path)


ANNOTATED = """\
from __future__ import annotations


def f(x: (lambda a: 1 if a else 2), y: [i for i in range(3) if i] = lambda b: 3 if b else 4) -> (lambda c: c and d):
    class Local:
        z: (lambda e: e or 5) = 6

    return y(0), Local.__annotations__


class K:
    field: (lambda v: not v) = 7


checked: (lambda w: 8 if w else 9) = lambda w: 8 if w else 9
"""


def test_annotations_that_are_kept_as_text_are_the_users(load: Any) -> None:
    ag.install("annotated_module")
    module = load("annotated_module", ANNOTATED)
    expected = {"x": "lambda a: 1 if a else 2", "y": "[i for i in range(3) if i]", "return": "lambda c: c and d"}
    for f in (module.f, ag.convert(load("annotated", ANNOTATED).f)):
        assert f.__annotations__ == expected
        assert f(1) == (4, {"z": "lambda e: e or 5"})
    assert module.K.__annotations__ == {"field": "lambda v: not v"}
    assert module.__annotations__ == {"checked": "lambda w: 8 if w else 9"} and module.checked(0) == 9
    text = ag.convert_source(ANNOTATED)
    assert "y: [i for i in range(3) if i] = lambda b: ag__.if_exp(b, lambda: 3, lambda: 4)) -> lambda c: c" in text
    assert "field: lambda v: not v = 7" in text
    assert "checked: lambda w: 8 if w else 9 = lambda w: ag__.if_exp(w, lambda: 8, lambda: 9)" in text


def test_a_warning_of_an_installed_module_is_of_the_line_that_imports_it(load: Any) -> None:
    ag.install("warning_module")
    with pytest.warns(DeprecationWarning, match="gone soon") as caught:
        load("warning_module", "import warnings\n\nwarnings.warn('gone soon', DeprecationWarning, stacklevel=2)\n")
    assert [w.filename for w in caught] == [importlib.__file__]  # `load` calls `importlib.import_module`


def test_files_are_read_though_a_mock_stands_for_open(tmp_path: Path) -> None:
    """A callee may be met first within `mock.patch("builtins.open")`, or within one of what linecache uses."""
    path = tmp_path / "mocked.py"
    path.write_bytes("# coding: latin-1\ndef f(x):\n    if x:\n        return 'é'\n    return 1".encode("latin-1"))
    module: dict[str, Any] = {"__name__": "mocked"}
    exec(compile(path.read_bytes(), str(path), "exec"), module)
    with mock.patch("builtins.open") as opened, mock.patch("tokenize._builtin_open") as read:
        converted = ag.convert(module["f"])
        assert (converted(1), converted(0)) == ("é", 1)
    assert not opened.called and not read.called
    ours: Any = linecache.cache.pop(str(path))
    linecache.getlines(str(path))
    assert linecache.cache.pop(str(path)) == ours


def test_what_is_compiled_warns_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where another module stands for `warnings`, as in the tests of that module."""
    def f(items: Any) -> Any:
        return [len(x) for x in items if max(x, key=abs)]

    other: Any = import_fresh(monkeypatch, "warnings")
    monkeypatch.setitem(sys.modules, "warnings", other)
    with other.catch_warnings(record=True) as seen:
        other.simplefilter("always")
        assert ag.convert(f)([[1], [0]]) == [1]
    assert not seen


def import_fresh(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    monkeypatch.delitem(sys.modules, name)
    made = importlib.import_module(name)
    monkeypatch.undo()
    return made


# --- How much of a file is parsed ---

BLOCKS = {
    "f": SIGN, "decorators": f"@(\nlambda fn:\n\nfn\n)\n# note\n@staticmethod\n{SIGN}",
    "first columns": 'def f(\nx\n):\n    """\ndef f(x):\n    return 2\n"""\n# note\n    return (\nx\n)\n',
    "a class": 'class A:\n    """\ntext\n"""\n    def f(self, x):\n        return self.__x\n',
    "else": "if not f:\n    g = 1\nelse:\n    def f(x):\n        return x\n",
    "a line": "f = lambda x: x; g = lambda x, y: x\n",
    "the middle of a string": 't = """\n""", """\n"""; f = lambda x: (\nx\n)\n',
}


@pytest.mark.parametrize("text", BLOCKS.values(), ids=BLOCKS)
def test_the_statement_that_a_function_is_in_is_found_as_in_the_whole_file(text: str) -> None:
    same_functions(f"f = None\n{text}\ng = 1\n")


def test_statements_of_this_repository_are_found() -> None:
    paths = sorted([*Path(ROOT, "autograph").rglob("*.py"), *Path(ROOT, "tests", "programs").glob("*.py")])
    for path in paths[::3]:
        same_functions(path.read_text())
    file = capture._File(str(path), tuple(path.read_text().splitlines(True)))
    whole = [node for node in file.tree.body if isinstance(node, ast.FunctionDef)]
    assert whole and all(file.block(capture._first_line(node)) is not None for node in whole)


def same_functions(text: str) -> None:
    file = capture._File("f.py", tuple(text.splitlines(True)))
    lines = {capture._first_line(node) for node in ast.walk(file.tree) if isinstance(node, capture.FunctionNode)}

    def at(line: int, tree: ast.Module) -> list[Any]:
        return [(ast.dump(node, include_attributes=True), name) for node, name in capture._search(tree, line)
                if capture._first_line(node) == line]

    for line in lines:
        block = file.block(line)
        here = [] if block is None else at(line, block)
        assert here in ([], at(line, file.tree)), (line, text)


def test_no_more_is_parsed_than_the_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    monkeypatch.setattr(capture, "_parsed", lambda text, name: parsed.append(text) or ast.parse(text, name))
    f = registered(f"a = 1\n\n\n@(lambda fn: fn)\n{SIGN}\n\ndef g(x):\n    return x\n")
    assert ag.convert(f)(-2) == -1
    assert parsed == [f"\n\n\n@(lambda fn: fn)\n{SIGN}\n\n"]
