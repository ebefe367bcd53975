"""Drawings of graphs, and `python -m runtime graph`."""
from __future__ import annotations

import subprocess
import sys
import textwrap
from xml.etree import ElementTree

import pytest

import runtime as rt
from runtime.tools.cli import main
from runtime.tools.draw import to_dot

SOURCE = """
import runtime as rt

def power(x, n):
    y = x * 0.0 + 1.0
    while n > 0:
        y = y * x
        n -= 1
    return y

@rt.function(input_signature=[rt.TensorSpec([], rt.float32)])
def double(x):
    return x * 2.0

class Net:
    @staticmethod
    def call(x):
        return x + 1

def fails(x):
    return x.shape.nothing

number = 3
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model_to_draw.py"
    path.write_text(SOURCE)
    return str(path)


def test_dot():
    @rt.function
    def f(x):
        if x > 0:
            x = x * 2
        return x

    graph = f.get_concrete_function(rt.TensorSpec([], rt.int32)).graph
    line = graph.nodes[-1].position.lineno
    assert to_dot(graph) == textwrap.dedent(f'''\
        digraph "f" {{
          graph [fontname="Helvetica", fontsize=11, style=rounded];
          node [fontname="Helvetica", fontsize=11, shape=box, style=rounded, height=0.3];
          edge [fontname="Helvetica", fontsize=9];
          n1 [label="x\\nint32[]", shape=ellipse];
          n2 [label="0", shape=plaintext];
          n3 [label="greater"];
          subgraph cluster_n4 {{
            label="{__file__}:{line} in f";
            n4 [label="cond", style=bold];
            subgraph cluster_n4_true {{
              label="true";
              n5 [label="x\\nint32[]", shape=ellipse, style="dashed"];
              n6 [label="2", shape=plaintext];
              n7 [label="multiply"];
              n8 [label="return", shape=ellipse];
            }}
            subgraph cluster_n4_false {{
              label="false";
              n9 [label="x\\nint32[]", shape=ellipse, style="dashed"];
              n10 [label="return", shape=ellipse];
            }}
          }}
          n11 [label="return", shape=ellipse];
          n1 -> n3 [label="int32[]"];
          n2 -> n3 [label="int32[]"];
          n3 -> n4 [label="bool[]"];
          n5 -> n7 [label="int32[]"];
          n6 -> n7 [label="int32[]"];
          n7 -> n8 [label="int32[]"];
          n1 -> n5 [style=dashed];
          n9 -> n10 [label="int32[]"];
          n1 -> n9 [style=dashed];
          n4 -> n11 [label="int32[]"];
        }}
        ''')
    assert to_dot(f.concrete_functions[0]) == to_dot(graph)


def test_svg_has_as_many_ops_as_are_wanted():
    def grown(x):
        for _ in range(6):
            x = x * 2
        return x

    graph = rt.function(grown).get_concrete_function(rt.TensorSpec([], rt.int32)).graph
    assert graph.to_svg(most=100).count("multiply") == 6
    shortened = graph.to_svg(most=3)
    assert shortened.count("multiply") < 3 and "more ops" in shortened


def test_what_cannot_be_drawn():
    with pytest.raises(TypeError, match="a graph or a traced function is wanted here, not 3"):
        to_dot(3)


def test_graph_command_prints(model, capsys):
    assert main(["graph", f"{model}:power", "--spec", "float32[None,3]", "--spec", "int32"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("graph power(x: float32[?,3], n: int32[]) -> (float32[?,3]) {\n") and "while_loop" in text
    assert main(["graph", f"{model}:double"]) == 0
    assert capsys.readouterr().out.startswith("graph double(x: float32[]) -> (float32[]) {")
    assert main(["graph", f"{model}:Net.call", "--spec", "int32[?]"]) == 0
    assert "(x: int32[?])" in capsys.readouterr().out


def test_graph_command_draws(model, tmp_path, capsys):
    out = tmp_path / "graph.dot"
    assert main(["graph", f"{model}:double", "--dot", str(out)]) == 0
    assert capsys.readouterr().out == f"wrote {out}\n"
    assert out.read_text().startswith('digraph "double" {')
    assert main(["graph", f"{model}:double", "--svg", "-"]) == 0
    drawn = ElementTree.fromstring(capsys.readouterr().out)
    assert drawn.tag.endswith("svg") and "multiply" in "".join(drawn.itertext())


@pytest.mark.parametrize(("arguments", "status", "text"), [
    (["{}:power", "--spec", "int3"], 2,
     "runtime: error: 'int3' is not a type: write int32, 'float32[8]' or 'float32[None,3]'\n"),
    (["{}:nothing"], 2, "runtime: error: {} has no function 'nothing'\n"),
    (["{}:number"], 2, "runtime: error: 'number' in {} is not a function\n"),
    (["{}"], 2, "runtime: error: '{}' does not name a function: write FILE:FUNCTION, such as model.py:step\n"),
    (["missing.py:f"], 2, "runtime: error: there is no file 'missing.py'\n"),
    (["no_such_module:f"], 2, "runtime: error: there is no file or module 'no_such_module': "
                              "No module named 'no_such_module'\n"),
    (["{}:fails", "--spec", "int32"], 1,
     "runtime: error: {}:21: AttributeError: 'TensorShape' object has no attribute 'nothing'\n"
     "    21 |     return x.shape.nothing\n"),
])
def test_graph_command_says_what_is_wrong(model, arguments, status, text, capsys):
    assert main(["graph", *(a.replace("{}", model) for a in arguments)]) == status
    captured = capsys.readouterr()
    assert captured.err == text.replace("{}", model) and captured.out == ""


def test_graph_command_on_files_that_are_no_source(tmp_path, capsys):
    broken, binary = tmp_path / "broken.py", tmp_path / "binary.py"
    broken.write_text("def f(:\n")
    binary.write_bytes(b"\x00\xff\xfe")
    assert main(["graph", f"{broken}:f"]) == 2
    assert capsys.readouterr().err == (
        f"runtime: error: {broken}:1: invalid syntax\n    1 | def f(:\n              ^\n")
    assert main(["graph", f"{binary}:f"]) == 2
    assert "is not Python source" in capsys.readouterr().err


def test_module_runs(model):
    command = [sys.executable, "-m", "runtime", "graph", f"{model}:double"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0 and result.stdout.startswith("graph double("), result.stderr


@pytest.mark.parametrize(("specs", "what"), [
    ((), "missing a required argument: 'x'"), (("int32", "int32", "int32"), "too many positional arguments")])
def test_graph_wants_a_spec_for_each_argument(tmp_path, capsys, specs, what):
    (tmp_path / "model.py").write_text("def f(x, y=2):\n    return x + y\n")
    target = f"{tmp_path / 'model.py'}:f"
    assert main(["graph", target, *(part for spec in specs for part in ("--spec", spec))]) == 2
    assert capsys.readouterr().err == (
        f"runtime: error: {target}: f(x, y=2): {what}\n"
        "Give a --spec TYPE for each argument without a default, in order.\n")
