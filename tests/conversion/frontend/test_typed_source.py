"""Functions that are in no file: of `python -c`, a prompt, cells run by a magic, frozen modules."""
from __future__ import annotations

import ntpath
import os
import subprocess
import sys
import textwrap

import pytest

import autograph as ag
from autograph.frontend import typed_source

PROGRAM = """
import autograph as ag
def positive(x):
    if x > 0:
        return x
    return -x
print(ag.to_code(positive))
"""
CONVERTED = "ag__.cond(x > 0, if_true, if_false, 'return_')"


def python(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "PYTHONWARNINGS": ""}, **options)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [
    ["-c", PROGRAM], ["-X", "utf8", "-Bc", PROGRAM, "-c"], ["-Wignore", f"-c{PROGRAM}"]])
def test_command(arguments):
    done = python(*arguments)
    assert CONVERTED in done.stdout, done.stderr


@pytest.mark.slow
def test_code_of_exec_in_a_command_is_not_taken_for_the_command():
    text = "def positive(x):\n    return x + 1\nimport autograph as ag\nprint(ag.to_code(positive))"
    done = python("-c", f"exec({text!r})")
    assert "no source text for 'positive'" in done.stderr


@pytest.mark.slow
def test_a_script_on_standard_input_has_a_remedy():
    done = python("-", input=PROGRAM)
    assert "no source text for 'positive'" in done.stderr or CONVERTED in done.stdout
    if sys.version_info < (3, 13):
        assert "put the function in a file and import it" in done.stderr


def defined(text, filename, **names):
    namespace = {"__name__": "__main__", **names}
    exec(compile(text, filename, "exec"), namespace)
    return namespace["positive"]


BODY = textwrap.dedent(PROGRAM.strip().split("\n", 1)[1].rsplit("\n", 1)[0]) + "\n"


def test_cells_that_a_magic_runs():
    cells = ["", "x = 1", f"get_ipython().run_cell_magic('time', '', {BODY!r})", "not python ("]
    assert CONVERTED in ag.to_code(defined(BODY, "<timed exec>", In=cells))
    other = BODY.replace("x > 0", "x > 1")
    with pytest.raises(ag.NoSourceError) as info:
        ag.to_code(defined(other, "<timed exec>", In=cells))
    assert "Define the function in a cell of its own, without %%time" in str(info.value)
    with pytest.raises(ag.NoSourceError):
        ag.to_code(defined(BODY, "<timed exec>"))


@pytest.mark.parametrize("line", ["g = {}", "-n1 {}", "-n 10 -r3 -q {}"])
def test_statements_that_a_line_magic_runs(line):
    text = "positive = lambda x: x if x > 0 else -x"
    cells = [f"get_ipython().run_line_magic('timeit', {line.format(text)!r})"]
    statement = f"g = {text}" if line.startswith("g") else text
    assert "ag__.if_exp(x > 0" in ag.to_code(defined(statement, "<magic-timeit>", In=cells))


class History:
    def __init__(self, text):
        self.lines = text.split("\n")

    def get_current_history_length(self):
        return len(self.lines)

    def get_history_item(self, k):
        return self.lines[k - 1]


def test_lines_typed_at_a_prompt(monkeypatch):
    typed = f"def positive(x):\n    return x\n@ag.do_not_convert\n{BODY}x = positive(1)\nprint(positive)"
    monkeypatch.setitem(sys.modules, "readline", History(typed))
    assert CONVERTED in ag.to_code(defined(BODY, "<stdin>"))
    assert "return x" in ag.to_code(defined("def positive(x):\n    return x\n", "<stdin>"))
    with pytest.raises(ag.NoSourceError, match="no source text"):
        ag.to_code(defined("def positive(x):\n    return x + 2\n", "<stdin>"))
    inside = "if True:\n    class A:\n        @staticmethod\n" + textwrap.indent(BODY, " " * 8)
    small = "small = lambda x: x if x > 0 else -x"
    monkeypatch.setitem(sys.modules, "readline", History(f"y = 1\n{inside}\n{small}\nprint(small(2), A.positive(1))"))
    made = {"__name__": "__main__"}
    exec(compile(inside, "<stdin>", "single"), made)
    exec(compile(small, "<stdin>", "single"), made)
    assert CONVERTED in ag.to_code(made["A"].positive)
    assert "ag__.if_exp(x > 0" in ag.to_code(made["small"])
    monkeypatch.delitem(sys.modules, "readline")
    with pytest.raises(ag.NoSourceError) as info:
        ag.to_code(defined(BODY, "<stdin>"))
    assert "put the function in a file and import it" in str(info.value)


SESSION = """import autograph as ag
def positive(x):
    if x > 0:
        return x
    return -x

print('DEF', len(ag.to_code(positive)))
class A:
    @ag.convert
    def sign(self, x): return 1 if x > 0 else -1

print('METHOD', A().sign(-3), 'ag__' in ag.to_code(A.sign))
small = lambda x: x if x > 0 else -x
print('LAMBDA', len(ag.to_code(small)))
exit(3)
"""


@pytest.mark.slow
def test_an_interactive_prompt():
    """At a terminal readline, or the prompt of Python 3.13, keeps what is typed."""
    pty = pytest.importorskip("pty")
    screen, terminal = pty.openpty()
    with subprocess.Popen([sys.executable, "-q"], stdin=terminal, stdout=terminal, stderr=terminal,
                          start_new_session=True, env={**os.environ, "TERM": "dumb"}) as process:
        os.close(terminal)
        os.write(screen, SESSION.encode())
        shown = b""
        try:
            while chunk := os.read(screen, 4096):
                shown += chunk
        except OSError:
            pass  # the terminal is closed
    os.close(screen)
    found = [line for line in shown.decode().splitlines() if line.startswith(("DEF ", "METHOD ", "LAMBDA "))]
    assert len(found) == 3 and "METHOD -1 True" in found and process.returncode == 3, shown.decode()


def test_frozen_modules():
    assert "ag__" in ag.to_code(ntpath.join)
    with open(ntpath.__file__) as file:
        text = file.read()
    namespace = {"__name__": "ntpath", "__file__": ntpath.__file__}
    exec(compile(text, "<frozen ntpath>", "exec"), namespace)
    assert "ag__" in ag.to_code(namespace["join"])
    namespace["__file__"] = "/nowhere.py"
    typed = list(typed_source.typed_texts(namespace["join"]))
    assert not typed or sys.version_info >= (3, 13)
