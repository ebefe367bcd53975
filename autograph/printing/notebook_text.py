"""Generated code as shown by notebooks and IPython."""
from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Final

from autograph.core.late_binding import deferred

if TYPE_CHECKING:
    import pygments
    from pygments import formatters, lexers
else:
    pygments = deferred("pygments")  # it need not be installed
    formatters = deferred("pygments.formatters")
    lexers = deferred("pygments.lexers")

__all__ = ["Code"]

_LINES: Final = 2000  # the most that a notebook shows


class Code(str):
    """Python source: a str that notebooks and IPython show line by line, highlighted if pygments is installed."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        lines = self.splitlines(keepends=True)
        text = "".join(lines[:_LINES])
        try:
            shown: str = pygments.highlight(text, lexers.PythonLexer(stripnl=False),
                                            formatters.HtmlFormatter(noclasses=True))
        except ImportError:
            shown = f"<pre>{html.escape(text)}</pre>"
        return shown if len(lines) <= _LINES else f"{shown}<p>{len(lines) - _LINES:,} more lines</p>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The text itself at IPython's prompt, not a literal of it on one line."""
        printer.text(str(self))
