"""A chart of the programs' rows: the time of each subject as a multiple of C's."""
from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence

from benchmarks.measure import Row

__all__ = ["draw", "possible"]


def possible() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def draw(rows: Sequence[Row], path: str) -> None:
    """Write the chart; the suffix of the path determines the format. Rows without C are left out."""
    importlib.import_module("matplotlib").use("Agg")
    plt = importlib.import_module("matplotlib.pyplot")
    rows = [row for row in rows if "C" in row.figures]
    subjects = list(dict.fromkeys(name for row in rows for name in row.figures if not name.startswith("C")))
    figure, axes = plt.subplots(figsize=(1.6 + 1.3 * len(rows), 4.5), layout="constrained")
    width = 0.8 / max(len(subjects), 1)
    for k, subject in enumerate(subjects):
        places = [i for i, row in enumerate(rows) if subject in row.figures]
        axes.bar([i + (k - (len(subjects) - 1) / 2) * width for i in places],
                 [rows[i].figures[subject] / rows[i].figures["C"] for i in places], width, label=subject)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_xticks(range(len(rows)), [row.name for row in rows])
    axes.set_ylabel("time / C's")
    axes.legend(ncols=len(subjects), fontsize="small")
    figure.savefig(path)
    plt.close(figure)
