"""What the documents say is true: every code block of README.md, CHANGELOG.md, docs/ and the docstrings runs.

In a document, ```python blocks run one after the other in one namespace; a ```text block behind one is what it
prints; ```console blocks are commands, each with what it prints below it, where "..." stands for anything. The one
block of ```bash is README.md's set-up, which `.ci/run` runs.
"""
from __future__ import annotations

import ast
import contextlib
import doctest
import fnmatch
import importlib
import inspect
import io
import linecache
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import autograph as ag
import runtime as rt

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ["README.md", "CHANGELOG.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*) *(\S*)\n(.*?)^```$", re.M | re.S)
KINDS = {"python", "text", "console", "bash"}


def blocks(text):
    """Each block's language, file name and text, and whether it stands right behind another block."""
    end = None
    for match in BLOCK.finditer(text):
        behind = end is not None and not text[end:match.start()].strip()
        end = match.end()
        yield match[1], match[2], match[3], behind


def execute(text, name, namespace):
    """Run a block as a file of this name that has source, as the user's file has. Gives what it printed."""
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, name, "exec", dont_inherit=True), namespace)
    return printed.getvalue()


def same(want, got):
    checker = doctest.OutputChecker()
    return checker.check_output(want.rstrip() + "\n", got.rstrip() + "\n", doctest.ELLIPSIS)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_document(document):
    namespace = {"__name__": "document"}
    printed = None
    for number, (kind, name, text, behind) in enumerate(blocks((ROOT / document).read_text())):
        assert kind in KINDS, f"{document}: a block of {kind or 'nothing'} does not run; it can be {KINDS}"
        if kind == "python":
            name = name or f"{document}-{number}.py"
            printed = execute(text, name, namespace)
        elif kind == "text":
            assert behind and printed is not None, f"{document}: nothing prints this\n{text}"
            assert same(text, printed), f"{document}: it prints\n{printed}\nand not\n{text}"
        elif kind == "console":
            run_commands(text)


def run_commands(text):
    scripts = os.path.dirname(sys.executable)
    env = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    for command, want in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
        command = re.sub(r"^autograph ", "python -m autograph ", command)
        child = subprocess.run(command, shell=True, cwd=ROOT, env=env, capture_output=True, text=True)
        assert child.stderr == "" and child.returncode in (0, 1), f"{command}\n{child.stderr}"
        assert same(want, child.stdout), f"{command} prints\n{child.stdout}"


def test_set_up_is_two_commands():
    """One runs the main job, the other the tests; `.ci/run` takes both from here, and runs them."""
    [text] = [text for document in DOCUMENTS for kind, _, text, _ in blocks((ROOT / document).read_text())
              if kind == "bash"]
    main, tests = text.splitlines()
    assert main.startswith("python3 -m venv .venv ") and main.endswith(" examples/quickstart.py")
    assert " '.[test]' " in tests and " -m pytest -n auto" in tests
    assert "sed -n '/^```bash$/,/^```$/{/^```/!p}' README.md" in (ROOT / ".ci/run").read_text()


def prose(document):
    """The text of a document without its blocks."""
    return BLOCK.sub("", (ROOT / document).read_text())


SOURCES = [path for folder in ("autograph", "runtime", "tests", "examples", "benchmarks")
           for path in sorted((ROOT / folder).rglob("*.py"))]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_documents_name_exist(document):
    """A name in backticks that looks like a path is one: of the repository, or of a file below one of its folders."""
    paths = ["/" + path.relative_to(ROOT).as_posix() for path in SOURCES]
    folders = "autograph|runtime|tests|examples|benchmarks"
    for name in re.findall(rf"`([\w./*]+\.py|(?:{folders})/[\w/.*]*)[`:]", prose(document)):
        assert any(ROOT.glob(name)) or any(fnmatch.fnmatch(path, f"*/{name}") for path in paths), f"{document}: {name}"


def test_files_in_a_folders_section_are_in_the_folder():
    """In docs/architecture.md, a file named without a path in the section of a folder is of that folder."""
    sections = re.split(r"^### `([\w/]+)`\n", prose("docs/architecture.md"), flags=re.M)[1:]
    assert len(sections) >= 60
    for folder, text in zip(sections[::2], sections[1::2], strict=True):
        assert (ROOT / folder).is_dir(), folder
        for name in re.findall(r"`([\w*]+\.py)`", text.partition("\n## ")[0]):
            assert any((ROOT / folder).glob(name)), f"{folder}: {name}"


def test_names_in_the_architecture_exist():
    """An identifier in backticks in docs/architecture.md occurs in the source, or in what a block prints."""
    text = (ROOT / "docs/architecture.md").read_text()
    assert len(text.split()) <= 3_500
    shown = [block for _, _, block, _ in blocks(text)]
    words = set(re.findall(r"\w+", "\n".join([*shown, *(path.read_text() for path in SOURCES)])))
    for name in re.findall(r"`@?(?!\w+\.py`)([A-Za-z_][\w.]*)`", prose("docs/architecture.md")):
        assert words.issuperset(name.split(".")), name


def test_the_newest_version_in_the_changelog_is_the_projects():
    """The changelog is a list of changes by version, which one reads in a few minutes."""
    text = (ROOT / "CHANGELOG.md").read_text()
    version = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.M)[1]
    assert re.search(r"^## (\S+)", text, re.M)[1] == version == ag.__version__
    assert len(text) <= 12_000


def test_readme_is_read_in_ten_minutes():
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 2_500 and "`python -m pytest -n auto -m \"not slow\"`" in text
    limits = re.search(r"^## Limits$(.*?)^## ", text, re.M | re.S)[1]
    assert len(limits.splitlines()) <= 25


# --- Docstrings -----------------------------------------------------------------------------------------------

MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("autograph", "runtime") for path in sorted((ROOT / package).rglob("*.py"))
    if path.stem != "__main__"
]


def code_in(docstring):
    """The indented paragraphs of a docstring that are Python; others are layouts and tables."""
    for block in re.findall(r"(?:^    .*\n?|^\s*\n)+", inspect.cleandoc(docstring) + "\n", re.M):
        text = textwrap.dedent(block).strip("\n")
        with contextlib.suppress(SyntaxError):
            if ast.parse(text).body:
                yield text + "\n"


def definitions(node):
    """The module, class or function, and those in it, wherever they stand."""
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
        yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            yield from definitions(child)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    if name.startswith("runtime.keras"):
        pytest.importorskip("runtime.keras", reason="Keras needs Python 3.11")
    module = importlib.import_module(name)
    source = inspect.getsource(module)
    if ">>>" in source:  # to run no examples takes long
        found = doctest.testmod(module, extraglobs={"ag": ag, "rt": rt}, optionflags=doctest.ELLIPSIS)
        assert found.failed == 0
    for node in definitions(ast.parse(source)):
        for number, text in enumerate(code_in(ast.get_docstring(node) or "")):
            if ">>>" not in text:
                execute(text, f"{name}-{node.__class__.__name__}-{number}.py", {"ag": ag, "rt": rt})


def test_a_document_that_lies_is_caught(tmp_path, monkeypatch):
    """Plant: another output, a block in no language that runs, and code that fails."""
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    for text in ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "```ruby\nputs 1\n```\n", "```text\n1\n```\n"):
        (tmp_path / "lies.md").write_text(text)
        with pytest.raises(AssertionError):
            test_document("lies.md")
    (tmp_path / "lies.md").write_text("```python\n1 // 0\n```\n")
    with pytest.raises(ZeroDivisionError):
        test_document("lies.md")


# --- Promises -------------------------------------------------------------------------------------------------


def test_promises_are_held_by_tests_that_exist():
    """Each row of docs/painpoints.md names a test, or a file of programs; what does not hold says so."""
    rows = re.findall(r"^\| (\d+) \|.*\| (.*) \|$", (ROOT / "docs/painpoints.md").read_text(), re.M)
    assert [int(number) for number, _ in rows] == list(range(1, 31))
    for number, held in rows:
        for name in re.findall(r"`([^`]+)`", held):
            path, _, test = name.rpartition("::") if "::" in name or name.startswith("test_") else (name, "", "")
            text = (ROOT / (path or "tests/test_painpoints.py")).read_text()
            assert f"def {test}(" in text if test else "@program" in text, f"row {number}: there is no {name}"


def test_the_limits_are_what_readme_says():
    """When one of these fails, something is there that README.md's limits deny: take it out of them."""

    def down(n):
        while n > 0:
            yield n
            n -= 1

    @rt.function
    def zipped(n):
        return [a * b for a, b in zip(down(n), down(n))]

    with pytest.raises(rt.errors.StagingError, match="Python takes its items one by one"):
        zipped(rt.constant(1))

    @rt.function
    def listed(n):
        return [*{n}]

    with pytest.raises(rt.errors.StagingError, match="the order of a set"):
        listed(rt.constant(1))
