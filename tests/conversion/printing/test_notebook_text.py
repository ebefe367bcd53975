"""What notebooks and IPython's prompt show of converted code and of explanations."""
from __future__ import annotations

import html
import pickle
import re
import types

import pytest

import autograph as ag
from autograph.api import Explanation
from autograph.core.late_binding import deferred
from autograph.printing import notebook_text


def absolute(x):
    if x < 0:
        x = -x  # <b>
    return x


class Prompt:
    """IPython's printer, as far as it is used."""

    def __init__(self):
        self.shown = ""

    def text(self, text):
        self.shown += text


def visible(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def test_code_is_text():
    code = ag.to_code(absolute)
    assert isinstance(code, str) and code == str(code) and pickle.loads(pickle.dumps(code)) == code
    compile(code, "<code>", "exec")


def test_code_at_a_prompt():
    prompt = Prompt()
    ag.to_code(absolute)._repr_pretty_(prompt, False)
    assert prompt.shown == ag.to_code(absolute)


def test_highlighted_code():
    pytest.importorskip("pygments")
    code = ag.to_code(absolute)
    markup = code._repr_html_()
    assert visible(markup).strip() == code.strip()
    assert "<b>" not in markup and "# &lt;b&gt;" in markup
    assert re.search(r'<span style="[^"]*">def</span>', markup)


def test_code_without_pygments(monkeypatch):
    monkeypatch.setattr(notebook_text, "pygments", deferred("no_such_module"))
    code = ag.to_code(absolute)
    assert code._repr_html_() == f"<pre>{html.escape(code)}</pre>"


def test_long_code_is_cut(monkeypatch):
    monkeypatch.setattr(notebook_text, "pygments", deferred("no_such_module"))
    markup = notebook_text.Code("x = 1\n" * 5000)._repr_html_()
    assert markup.count("x = 1") == 2000 and markup.endswith("<p>3,000 more lines</p>")


def test_modules_and_classes_are_code_too():
    module = types.ModuleType("shown")
    module.__file__ = __file__
    for code in (ag.to_code(module), ag.to_code(Prompt)):
        assert isinstance(code, notebook_text.Code) and "class Prompt" in code


def test_explanation():
    explanation = ag.explain(absolute)
    markup = explanation._repr_html_()
    assert "<td>if</td><td>staged if a tensor</td>" in markup
    assert f"{__file__}:{absolute.__code__.co_firstlineno}: absolute" in visible(markup)
    prompt = Prompt()
    explanation._repr_pretty_(prompt, False)
    assert prompt.shown == str(explanation)


def test_explanation_without_decisions():
    assert visible(ag.explain(lambda x: x)._repr_html_()).endswith(
        "nothing in it depends on control flow; its calls convert")
    assert "left alone: <rule>" in visible(Explanation("f", "a.py", 1, (), "<rule>")._repr_html_())
    assert "<rule>" not in Explanation("f", "a.py", 1, (), "<rule>")._repr_html_()


def test_explanation_is_bounded():
    decision = ag.explain(absolute).decisions[0]
    markup = Explanation("<f>", "a.py", 1, (decision,) * 1234)._repr_html_()
    assert markup.count("<tr>") == 200 and markup.endswith("<div>1,034 more statements</div>") and "<f>" not in markup
