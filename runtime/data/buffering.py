"""Datasets that store elements: in memory, in files, or computed ahead."""
from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from runtime.core.errors import InvalidArgumentError, NotFoundError
from runtime.core.positions import located
from runtime.core.tensor import EagerTensor
from runtime.data.files import read, spec_in, written
from runtime.data.pipeline import UNKNOWN_CARDINALITY, Element, Pipeline
from runtime.data.threads import AUTOTUNE, prefetched

__all__ = ["Buffering"]

D = TypeVar("D", bound="Buffering")

_FILE = "elements"


class Buffering(Pipeline):
    """The transformations that store elements."""

    def cache(self: D, filename: Any = "", name: str | None = None) -> D:
        """Store the elements after the first complete iteration: in memory, or in a file, which later runs of the
        program read, too (`tf.data.Dataset.cache`).

        A dataset made from tensors of a graph is read anew in each run. ValueError if the file has elements of another
        structure, DataLossError if it is damaged.
        """
        path = os.fspath(filename)
        kept: list[list[Element]] = []
        lasting = all(isinstance(x, EagerTensor) for x in self.sources)

        def of_file(arrays: Sequence[Any]) -> Iterator[Element]:
            if os.path.exists(path):
                return read(path, self.element_spec)
            return written(path, self._elements(arrays), self.element_spec)

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            if kept:
                yield from kept[0]
                return
            seen = []
            for element in self._elements(arrays):
                seen.append(element)
                yield element
            if lasting and not kept:
                kept.append(seen)

        return self._derived(of_file if path else elements)

    def save(self, path: Any, name: str | None = None) -> None:
        """Write the elements to the directory `path`, which is created; `Dataset.load` reads them
        (`tf.data.Dataset.save`)."""
        folder = os.fspath(path)
        os.makedirs(folder, exist_ok=True)
        sources = [source._array for source in self.sources]
        for _ in written(os.path.join(folder, _FILE), self._elements(sources), self.element_spec):
            pass

    @classmethod
    def load(cls: type[D], path: Any, element_spec: Any = None, name: str | None = None) -> D:
        """The dataset that `save` wrote (`tf.data.Dataset.load`). NotFoundError if there is none, DataLossError if it
        is damaged, ValueError if its elements do not match a given `element_spec`."""
        file = os.path.join(os.fspath(path), _FILE)
        if not os.path.exists(file):
            raise located(NotFoundError(f"{os.fspath(path)} is no folder that Dataset.save wrote"))
        spec = spec_in(file) if element_spec is None else element_spec
        return cls((), spec, lambda arrays: read(file, spec), UNKNOWN_CARDINALITY)

    def snapshot(self: D, path: Any, compression: str = "AUTO", name: str | None = None) -> D:
        """Store the elements in the directory `path`, which later runs of the program read
        (`tf.data.Dataset.snapshot`). They are not compressed: `compression` is "AUTO" or None."""
        if compression not in ("AUTO", "", None):
            raise located(InvalidArgumentError(f"elements are kept without compression, not with {compression!r}"))
        folder = os.fspath(path)
        os.makedirs(folder, exist_ok=True)
        return self.cache(os.path.join(folder, _FILE))

    def prefetch(self: D, buffer_size: Any = AUTOTUNE, name: str | None = None) -> D:
        """The same elements; a thread computes up to `buffer_size` of them ahead of their use, a few for AUTOTUNE
        (`tf.data.Dataset.prefetch`)."""
        size = int(buffer_size)
        if size < 0 and size != AUTOTUNE:
            raise located(InvalidArgumentError(f"a buffer holds at least 0 elements, not {size}"))
        if size == 0:
            return self._derived(self._elements)

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            return prefetched(self._elements(arrays), size)

        return self._derived(elements)
