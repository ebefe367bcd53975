"""Layout of acyclic diagrams as SVG: boxes in layers, edges downwards, frames inside boxes.

A box lies in the layer below its lowest operand (longest path); inside a layer, boxes are ordered by the mean position
of their operands, as in Sugiyama's method without its sweeps: graphs here are small, since the caller bounds them.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from autograph.backend import deferred

if TYPE_CHECKING:
    import html
else:
    html = deferred("html")  # only notebooks show diagrams

__all__ = ["Box", "svg"]

_CHARACTER: Final = 6.7  # width of a character, in pixels
_LINE: Final = 14
_PADDING: Final = 8
_GAP: Final = 28  # between layers; between boxes half as much
_ACROSS: Final = 8  # boxes in one row
_STYLE: Final = {"op": 'rx="3" fill="#eef3fb" stroke="#4a6fa5"', "value": 'rx="12" fill="#f6f6f6" stroke="#777"',
                 "capture": 'rx="12" fill="#f6f6f6" stroke="#777" stroke-dasharray="4 3"'}


class Box(NamedTuple):
    """A box with text, of the kind "op", "value" or "capture". `operands` and `captured` are indices of earlier boxes,
    drawn as solid and dashed edges; `frames` are titled diagrams inside the box."""

    lines: tuple[str, ...]
    kind: str
    operands: Sequence[int] = ()
    captured: Sequence[int] = ()
    frames: Sequence[tuple[str, Sequence[Box]]] = ()


class _Part(NamedTuple):
    """Drawn elements, from the origin, and their extent."""

    width: float
    height: float
    elements: list[str]


def svg(boxes: Sequence[Box]) -> str:
    """The SVG text of a diagram."""
    part = _diagram(boxes)
    width, height = part.width + 2 * _PADDING, part.height + 2 * _PADDING
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="monospace" font-size="11">',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>', *_moved(part, _PADDING, _PADDING), "</svg>"])


def _moved(part: _Part, x: float, y: float) -> list[str]:
    return [f'<g transform="translate({x:.1f},{y:.1f})">', *part.elements, "</g>"]


def _text(x: float, y: float, line: str) -> str:
    """One line of text; unprintable characters are replaced."""
    shown = html.escape("".join(c if c.isprintable() else "\ufffd" for c in line))
    return f'<text x="{x:.1f}" y="{y:.1f}">{shown}</text>'


def _rows(boxes: Sequence[Box]) -> list[list[int]]:
    """The indices of the boxes by layer."""
    layers: list[int] = []
    for box in boxes:
        layers.append(1 + max((layers[k] for k in (*box.operands, *box.captured)), default=-1))
    members: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for place, layer in enumerate(layers):
        members[layer].append(place)
    return members


def _diagram(boxes: Sequence[Box]) -> _Part:
    parts = [_box(box) for box in boxes]
    at: dict[int, tuple[float, float]] = {}  # the upper left corner of each box placed so far
    width = y = 0.0
    for layer in _rows(boxes):
        means = {k: _mean([at[j][0] + parts[j].width / 2 for j in (*boxes[k].operands, *boxes[k].captured)])
                 for k in layer}
        layer.sort(key=lambda k: means[k])  # stable
        for start in range(0, len(layer), _ACROSS):
            row = layer[start:start + _ACROSS]
            extent = sum(parts[k].width for k in row) + (len(row) - 1) * _GAP / 2
            x = max(0.0, _mean([means[k] for k in row]) - extent / 2)
            for k in row:
                at[k] = x, y
                x += parts[k].width + _GAP / 2
            width = max(width, x - _GAP / 2)
            y += max(parts[k].height for k in row) + _GAP
    edges = [_edge(boxes, parts, at, place) for place in range(len(boxes))]
    drawn = [line for k, part in enumerate(parts) for line in _moved(part, *at[k])]
    return _Part(width, max(0.0, y - _GAP), [*(line for lines in edges for line in lines), *drawn])


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def _edge(
    boxes: Sequence[Box], parts: Sequence[_Part], at: dict[int, tuple[float, float]], place: int
) -> list[str]:
    """The edges into a box. They end side by side on its upper side, in the left-to-right order of their sources."""
    box, (left, top) = boxes[place], at[place]
    sources = [(k, "") for k in box.operands] + [(k, ' stroke-dasharray="4 3"') for k in box.captured]
    sources.sort(key=lambda source: at[source[0]][0])
    lines = []
    for number, (k, dash) in enumerate(sources, 1):
        x0, y0 = at[k][0] + parts[k].width / 2, at[k][1] + parts[k].height
        x1 = left + parts[place].width * number / (len(sources) + 1)
        bend = (y0 + top) / 2
        lines.append(f'<path d="M {x0:.1f} {y0:.1f} C {x0:.1f} {bend:.1f}, {x1:.1f} {bend:.1f}, {x1:.1f} {top:.1f}" '
                     f'fill="none" stroke="#999"{dash}/>')
    return lines


def _box(box: Box) -> _Part:
    width = max(len(line) for line in box.lines) * _CHARACTER + 2 * _PADDING
    height: float = len(box.lines) * _LINE + _PADDING
    inside = [_text(_PADDING, _LINE * number, line) for number, line in enumerate(box.lines, 1)]
    x: float = _PADDING
    tallest = 0.0
    for title, content in box.frames:
        part = _diagram(content)
        inside += [_text(x, height + _LINE, title), *_moved(part, x, height + _LINE + _PADDING)]
        x += max(part.width, len(title) * _CHARACTER) + _GAP
        tallest = max(tallest, part.height)
    if box.frames:
        width = max(width, x - _GAP + _PADDING)
        height += _LINE + tallest + 2 * _PADDING
    outline = f'<rect width="{width:.1f}" height="{height:.1f}" {_STYLE[box.kind]}/>'
    return _Part(width, height, [outline, *inside])
