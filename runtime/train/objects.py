"""The variables in objects, by their paths: attributes, items and keys, as in `model/layers/0/kernel`."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runtime.data.iterators import DatasetIterator
from runtime.function.variables.module import Module
from runtime.function.variables.variable import Variable
from runtime.ops.random_generators import Generator

__all__ = ["Composite", "attribute_names", "is_variable", "leaves", "parts", "restore", "state_of"]


class Composite:
    """Base class of objects that name their parts."""

    def parts(self) -> Iterator[tuple[str, Any]]:
        raise NotImplementedError


def leaves(x: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The variables, dataset iterators and random generators in `x`, each with its path; one that has several paths
    comes once for each.

    Parts are the attributes of modules and checkpoints, the items of lists, tuples and dicts, and, by number, the
    `variables` of other objects, such as Keras layers and optimizers.
    """
    yield from _leaves(x, path, ())


def is_variable(x: Any) -> bool:
    """Whether it is a variable of the runtime or of Keras."""
    kind = type(x)
    return isinstance(x, Variable) or (not isinstance(x, type) and all(
        hasattr(kind, name) for name in ("assign", "numpy", "shape", "dtype")))


def state_of(leaf: Any) -> Any:
    """What a checkpoint saves of a variable, a dataset iterator or a random generator: an array."""
    if isinstance(leaf, Generator):
        return leaf.state.numpy()
    return leaf.numpy() if is_variable(leaf) else leaf.state()


def restore(leaf: Any, value: Any) -> None:
    """Give a leaf the state that was saved."""
    if isinstance(leaf, Generator):
        leaf.reset(value)
    elif is_variable(leaf):
        leaf.assign(value)
    else:
        leaf.restore(value)


def _leaves(x: Any, path: str, around: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    if id(x) in around:
        return
    if isinstance(x, (DatasetIterator, Generator)) or is_variable(x):
        yield path, x
        return
    for name, part in parts(x):
        inner = _escaped(str(name))
        yield from _leaves(part, f"{path}/{inner}" if path else inner, (*around, id(x)))


def parts(x: Any) -> Iterator[tuple[Any, Any]]:
    """The parts of an object, with their names."""
    if isinstance(x, Composite):
        yield from x.parts()
    elif isinstance(x, Module):
        yield from sorted(vars(x).items(), key=lambda item: item[0])
    elif isinstance(x, Mapping):
        yield from ((key, x[key]) for key in sorted(x, key=str))
    elif isinstance(x, (list, tuple)):
        yield from enumerate(x)
    elif _is_numbered(x):
        yield from enumerate(x.variables)


def _is_numbered(x: Any) -> bool:
    """Whether it is an object whose variables are named by number, such as a Keras layer."""
    return not isinstance(x, (type, Composite, Module, Mapping, list, tuple)) and hasattr(type(x), "variables")


def attribute_names(x: Any) -> Iterator[tuple[str, Any]]:
    """The variables in `x` with the paths of attributes that lead to them, also through objects such as Keras layers,
    as in `model/dense/kernel` and `model/layers/0/kernel`. Parts that have several paths come once."""
    yield from _named(x, "", set())


def _named(x: Any, path: str, visited: set[int]) -> Iterator[tuple[str, Any]]:
    if id(x) in visited:
        return
    visited.add(id(x))
    for name, part in _attributes(x) if _is_numbered(x) else parts(x):
        inner = f"{path}/{_escaped(str(name))}" if path else _escaped(str(name))
        if is_variable(part):
            yield inner, part
        else:
            yield from _named(part, inner, visited)


def _attributes(x: Any) -> Iterator[tuple[str, Any]]:
    """The variables among the attributes, whose names may begin with an underscore; the public attributes that may have
    some; and, of a model, its layers."""
    for name, part in sorted(getattr(x, "__dict__", {}).items()):
        if is_variable(part):
            yield name.lstrip("_"), part
        elif name[0] != "_" and (isinstance(part, (Mapping, list, tuple)) or hasattr(type(part), "variables")):
            yield name, part
    yield "layers", getattr(x, "layers", ())


def _escaped(name: str) -> str:
    return name.replace("%", "%25").replace("/", "%2F")
