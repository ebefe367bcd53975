"""Drawings of graphs in Graphviz's language."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runtime.core.graph import Graph, Node, Value, param_text
from runtime.function.concrete import graph_of

__all__ = ["to_dot"]


def to_dot(graph: Any) -> str:
    """A graph, that of a concrete function, or that of the newest trace of a function, in Graphviz's language.

    An ellipse is an input or result, a box an op; a frame is a subgraph. Edges are labelled with types; dashed ones are
    captures.
    """
    graph = graph_of(graph)
    drawing = _Drawing()
    body = list(drawing.graph(graph))
    lines = [f"digraph {_quoted(graph.name)} {{", '  graph [fontname="Helvetica", fontsize=11, style=rounded];',
             '  node [fontname="Helvetica", fontsize=11, shape=box, style=rounded, height=0.3];',
             '  edge [fontname="Helvetica", fontsize=9];']
    return "\n".join([*lines, *("  " + line for line in body), *("  " + line for line in drawing.edges), "}\n"])


def _label(node: Node) -> str:
    params = [f"{name}={param_text(param)}" for name, param in node.params.items() if not isinstance(param, Graph)]
    if node.op.name == "const":
        return param_text(node.params["value"])
    return "\n".join([node.op.name, *params])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


class _Drawing:
    def __init__(self) -> None:
        self.ids: dict[Value, str] = {}  # by value, the node that defines it
        self.edges: list[str] = []
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"n{self.count}"

    def graph(self, graph: Graph) -> Iterator[str]:
        captured = {inner for _, inner in graph.captures}
        for value in graph.parameters:
            self.ids[value] = self.fresh()
            style = ', style="dashed"' if value in captured else ""
            label = f"{value.hint}\n{value.type}" if value.hint else str(value.type)
            yield f"{self.ids[value]} [label={_quoted(label)}, shape=ellipse{style}];"
        for node in graph.nodes:
            yield from self.node(node)
        for value in graph.outputs:
            end = self.fresh()
            yield f'{end} [label="return", shape=ellipse];'
            self.edge(value, end)

    def node(self, node: Node) -> Iterator[str]:
        here = self.fresh()
        self.ids.update((value, here) for value in node.outputs)
        if node.op.name == "const":
            yield f"{here} [label={_quoted(_label(node))}, shape=plaintext];"
            return
        label = _quoted(_label(node))
        for value in node.operands:
            self.edge(value, here)
        if not node.subgraphs:
            yield f"{here} [label={label}];"
            return
        yield f"subgraph cluster_{here} {{"
        yield f"  label={_quoted(str(node.position or ''))};"
        yield f"  {here} [label={label}, style=bold];"
        for name, sub in node.subgraphs.items():
            yield f"  subgraph cluster_{here}_{name} {{"
            yield f"    label={_quoted(name)};"
            for line in self.graph(sub):
                yield "    " + line
            for outer, inner in sub.captures:
                self.edges.append(f"{self.ids[outer]} -> {self.ids[inner]} [style=dashed];")
            yield "  }"
        yield "}"

    def edge(self, value: Value, to: str) -> None:
        self.edges.append(f"{self.ids[value]} -> {to} [label={_quoted(str(value.type))}];")
