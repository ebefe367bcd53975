"""The base of all datasets: sources, the structure of their elements, and how to make an iterator over these."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, Final, TypeVar

import numpy as np

from runtime.core.pytree import flatten, map_structure, pack_sequence_as
from runtime.core.tensor import EagerList, Tensor
from runtime.core.types import TensorSpec, Type
from runtime.staging.values.iterables import Staged

__all__ = [
    "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Block", "Blocks", "DatasetSpec", "Draws", "Element", "Elements",
    "Options", "Pipeline", "array_of", "flat", "packed", "spec_of", "tensor_types", "types_of",
]

INFINITE_CARDINALITY: Final = -1
UNKNOWN_CARDINALITY: Final = -2

Element = tuple[Any, ...]
"""The arrays of one element, in the order of `types_of(element_spec)`; a list value is a sequence of arrays."""
Elements = Callable[[Sequence[Any]], Iterator[Element]]
"""A function from arrays for the sources to an iterator over the elements."""
Block = list[Any]
"""Elements in column form: for each of their arrays the rows, as an array with an additional first axis."""
Blocks = Callable[[Sequence[Any]], Iterator[Block]]
"""A function from arrays for the sources to an iterator over the elements in blocks of arbitrary sizes."""
P = TypeVar("P", bound="Pipeline")


class Draws:
    """A source of random generators, one for each iteration; all yield the same numbers unless `anew`.

    base, round   seed the next generator: to restore them is to repeat its numbers
    """

    def __init__(self, seed: int | None, anew: bool) -> None:
        self.base = int(np.random.default_rng().integers(1 << 62)) if seed is None else abs(int(seed))
        self.round = 0
        self._anew = anew

    def __call__(self) -> np.random.Generator:
        generator = np.random.default_rng([self.base, self.round])
        self.round += self._anew
        return generator


class Options(SimpleNamespace):
    """Settings of a dataset (`tf.data.Options`), which have no effect here: elements come in order, and how many are
    computed ahead is said where they are computed.

    They can be set and read: `options.deterministic = False`, `options.threading.private_threadpool_size = 1`. Those
    that TF has groups for are namespaces, other settings are None before they are set.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in _GROUPS:
            return None
        vars(self)[name] = SimpleNamespace()
        return vars(self)[name]

    def merge(self, options: Options) -> Options:
        """These settings, and those of `options` in place of the same ones (`tf.data.Options.merge`)."""
        return Options(**{**vars(self), **vars(options)})


_GROUPS: Final = ("autotune", "experimental_distribute", "experimental_optimization", "experimental_service",
                  "experimental_threading", "threading")


class Pipeline(Staged):
    """A sequence of elements, each a structure of tensors and datasets, that can be iterated over any number of times.

    element_spec   the structure of an element, with a TensorSpec for each tensor and a DatasetSpec for each dataset
    sources        the tensors that it is made from: eager ones, or tensors of the graph that is being traced
    draws          the random sources on which its order depends
    """

    def __init__(
        self, sources: Sequence[Any], element_spec: Any, elements: Elements, cardinality: int,
        draws: Sequence[Draws] = (), blocks: Blocks | None = None,
    ) -> None:
        self.draws = tuple(draws)
        self._blocks = blocks  # faster than element by element, for consumers of several
        self.sources = tuple(sources)
        self.element_spec = element_spec
        self._elements = elements
        self._cardinality = cardinality
        self._options = Options()

    def _derived(
        self: P, elements: Elements, sources: Sequence[Any] = (), spec: Any = None, cardinality: int | None = None,
        draws: Sequence[Draws] = (),
    ) -> P:
        """A dataset of these elements, with this one's sources and draws and the additional ones; other arguments
        default to this dataset's."""
        made = type(self)((*self.sources, *sources), self.element_spec if spec is None else spec, elements,
                          self._cardinality if cardinality is None else cardinality, (*self.draws, *draws))
        made._options = self._options
        return made


class DatasetSpec:
    """The type of a dataset that is part of an element (`tf.data.DatasetSpec`).

    element_spec   the structure of its elements
    """

    def __init__(self, dataset: Pipeline) -> None:
        self.element_spec = dataset.element_spec
        self.types: tuple[Type, ...] = tuple([source.type for source in dataset.sources])
        """The types of its sources, which represent the dataset in an element."""
        self._kind, self._draws = type(dataset), dataset.draws
        self._elements = dataset._elements
        self._cardinality = dataset._cardinality

    def dataset(self, sources: Sequence[Any]) -> Pipeline:
        """The dataset with these sources."""
        return self._kind(sources, self.element_spec, self._elements, self._cardinality,
                          self._draws)

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r})"


def types_of(spec: Any) -> list[Type]:
    """The types of the arrays of an element."""
    types: list[Type] = []
    for leaf in flatten(spec):
        types += leaf.types if isinstance(leaf, DatasetSpec) else (leaf.type,)
    return types


def tensor_types(spec: Any, what: str) -> list[Any]:
    """The types of the tensors of an element. TypeError if there are datasets, which `what` does not take."""
    leaves = flatten(spec)
    if any(isinstance(leaf, DatasetSpec) for leaf in leaves):
        raise TypeError(f"{what} takes elements of tensors, but these hold datasets: {spec!r}")
    return [leaf.type for leaf in leaves]


def packed(spec: Any, values: Sequence[Any]) -> Any:
    """The element with these tensors and lists, in the order of `types_of`."""
    rest = iter(values)
    return pack_sequence_as(spec, [
        leaf.dataset([next(rest) for _ in leaf.types]) if isinstance(leaf, DatasetSpec) else next(rest)
        for leaf in flatten(spec)])


def flat(structure: Any) -> list[Any]:
    """The tensors and lists of a structure of tensors and datasets, in the order of `types_of`."""
    values: list[Any] = []
    for leaf in flatten(structure):
        values += leaf.sources if isinstance(leaf, Pipeline) else (leaf,)
    return values


def spec_of(structure: Any) -> Any:
    return map_structure(
        lambda x: DatasetSpec(x) if isinstance(x, Pipeline) else TensorSpec.from_tensor(x), structure)


def array_of(source: Any) -> Any:
    """The array of an eager tensor, or the arrays of an eager list."""
    if isinstance(source, EagerList):
        return source.items
    assert isinstance(source, Tensor)
    return source._array  # type: ignore[attr-defined]
