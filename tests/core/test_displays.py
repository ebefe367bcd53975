"""What notebooks show of tensors, variables and graphs: bounded, escaped, drawn without other programs."""
from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import runtime as rt
from runtime.core.svg import Box, svg

SVG = "{http://www.w3.org/2000/svg}"


def texts(drawing: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(drawing).iter(f"{SVG}text")]


def cells(markup: str) -> list[list[str]]:
    return [re.findall("<td>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", markup)]


def test_matrix():
    markup = rt.constant([[1, 2], [3, 4]])._repr_html_()
    assert markup.startswith("<div>Tensor, shape=(2, 2), dtype=int32</div>\n<table>")
    assert cells(markup) == [["1", "2"], ["3", "4"]]


@pytest.mark.parametrize(("value", "expected"), [
    (1.5, [["1.5"]]), ([True, False], [["True", "False"]]), ([[[1, 2]], [[3, 4]]], [["1", "2"]]),
    (np.zeros((0, 3)), []), (np.zeros((3, 0)), []), (np.zeros((2, 0, 3)), []), (1 + 2j, [["(1+2j)"]])])
def test_other_ranks(value, expected):
    assert cells(rt.constant(value)._repr_html_()) == expected


def test_which_matrix_is_shown():
    assert "<div>[0, 0, :, :]</div>" in rt.zeros([2, 3, 4, 5])._repr_html_()


def test_strings_are_escaped_and_cut():
    markup = rt.constant(["<script>alert(1)</script>", "x" * 1000])._repr_html_()
    assert "<script>" not in markup and "&lt;script&gt;" in markup
    assert "x" * 36 in markup and "x" * 41 not in markup


def test_large_tensors_are_cut():
    markup = rt.zeros([1000, 2000])._repr_html_()
    rows = cells(markup)
    assert {len(row) for row in rows} == {17} and len(rows) == 17 and len(markup) < 10_000
    assert rows[8] == ["…"] * 17 and rows[0][8] == "…"
    assert [len(row) for row in cells(rt.range(17)._repr_html_())] == [17]


def test_variable():
    variable = rt.Variable([1.0, 2.0], name="<w>")
    assert variable._repr_html_() == ("<div>Variable &#x27;&lt;w&gt;:0&#x27;, shape=(2,), dtype=float32</div>\n"
                                      "<table><tr><td>1.0</td><td>2.0</td></tr></table>")
    seen = []

    @rt.function
    def f(x):
        seen.append((hasattr(x, "_repr_html_"), variable._repr_html_()))
        return x

    f(rt.constant(1))
    assert seen == [(False, None)]


def test_graph():
    @rt.function
    def f(x):
        while x > 0:
            x = x - 3
        return x * 2

    concrete = f.get_concrete_function(rt.TensorSpec([], rt.int32))
    drawing = concrete.graph._repr_svg_()
    shown = texts(drawing)
    assert "x" in shown and "int32[]" in shown and any(line.startswith("return ") for line in shown)
    assert any("while_loop(" in line for line in shown) and any("greater(" in line for line in shown)
    assert "body" in shown
    assert concrete._repr_svg_() == drawing
    printed = str(concrete.graph)
    assert all(line in printed for line in shown if "(" in line and not line.endswith("...")), shown


def test_captures_are_dashed():
    @rt.function
    def f(x, y):
        return y if x > 0 else x

    number = rt.TensorSpec([], rt.int32)
    assert "stroke-dasharray" in f.get_concrete_function(number, number)._repr_svg_()


def test_large_graphs_are_cut():
    @rt.function
    def f(x):
        ys = []
        for _ in range(100):
            x = rt.sin(x)
            ys.append(rt.cond(x > 1, lambda x=x: x + 1, lambda x=x: x))
        return ys

    graph = f.get_concrete_function(rt.TensorSpec([], rt.float32)).graph
    assert len(graph.nodes) >= 300
    drawing = graph._repr_svg_()
    assert any(line.endswith(" more ops") for line in texts(drawing))
    assert drawing.count("<rect") < 400 and len(drawing) < 200_000


def test_many_parameters_are_cut():
    @rt.function
    def f(*xs):
        return rt.add_n(xs)

    drawing = f.get_concrete_function(*[rt.TensorSpec([], rt.float32)] * 300)._repr_svg_()
    assert "150 more" in texts(drawing) and max(map(len, texts(drawing))) <= 50


def test_names_are_escaped():
    hostile = Box(("</text><script>", "\x00\x1b"), "op")
    drawing = svg([hostile, Box(("&",), "value", [0], [], [("<frame>", [hostile])])])
    assert texts(drawing) == ["</text><script>", "��", "&", "<frame>", "</text><script>", "��"]


def test_an_empty_diagram():
    assert ElementTree.fromstring(svg([])).tag == f"{SVG}svg"


def test_boxes_do_not_overlap():
    boxes = [Box((f"input {k}",), "value") for k in range(12)]
    boxes += [Box((f"op {k}" * (k + 1),), "op", [k, (k + 5) % 12]) for k in range(12)]
    places = [tuple(map(float, found)) for found in re.findall(
        r'translate\(([\d.]+),([\d.]+)\)">\n<rect width="([\d.]+)" height="([\d.]+)"', svg(boxes))]
    assert len(places) == 24
    for a, (x, y, width, height) in enumerate(places):
        for x2, y2, width2, height2 in places[:a]:
            assert x >= x2 + width2 or x2 >= x + width or y >= y2 + height2 or y2 >= y + height
