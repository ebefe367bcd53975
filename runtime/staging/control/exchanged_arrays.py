"""Loops that exchange arrays to which other names refer, such as the two buffers of `u, new = new, u`.

Which array a variable refers to depends on the number of iterations, so each variable would be a `SelectedArray`, and
a write would change each of the arrays conditionally. If the body does nothing with the arrays but by these variables,
it is traced with an array of its own for each of them, whose elements travel with a number: that of the array before
the loop that it is. An exchange exchanges elements and numbers, which costs nothing. After the loop each array gets the
elements that have its number.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from autograph.backend import ALIASED, containers_in, fill, parts_in, same_parts
from runtime.core.errors import StagingError
from runtime.core.tensor import GraphTensor, Tensor
from runtime.numpy.array_choices import SelectedArray
from runtime.numpy.array_indexing import as_tensor, known
from runtime.numpy.array_layouts import Layout
from runtime.numpy.array_objects import ArrayCell
from runtime.ops.logic import equal, where
from runtime.staging.aliases.alias_tracking import is_returned
from runtime.staging.aliases.body_tracing import checkpoint, rollback
from runtime.staging.aliases.open_bodies import contents_of
from runtime.staging.joins.alias_join import BodyEnd, Place, with_contents
from runtime.staging.joins.lattice import Custom, Nested, Optional, Spec

__all__ = ["Form", "Loop", "exchanging"]

Places = Sequence[tuple[int, Place]]
"""Variables, by index, each with the position of an array in it; () for the variable itself."""


class _Exchanged(Exception):
    """The body of a loop exchanges the arrays in these `places`."""

    def __init__(self, places: Places) -> None:
        super().__init__("arrays are exchanged")
        self.places = places


class _Unsuited(Exception):
    """The body does more with the arrays than exchange them."""


class Loop(Protocol):
    """The trace of a loop's body. Sequences are indexed by variable."""

    names: Sequence[str]
    init: list[Any]
    """The values before the loop."""
    specs: list[Spec]
    """Their specs."""
    changed: list[bool]
    """Whether the body changes containers of the variable."""
    compared: Sequence[Any]
    """The containers whose identity the body compares (`is`)."""
    out: Sequence[Any] | None
    """The values after an iteration; None if it raises."""
    end: BodyEnd

    def uses(self, i: int) -> bool:
        """Whether the body or the test computes with the variable's value at the beginning of an iteration, or assigns
        it to another variable."""


class Form:
    """A form in which a loop is traced: one that does not allow for arrays that are exchanged."""

    selects = False
    """Whether a variable that is one of several arrays with other names becomes a `SelectedArray`; otherwise it gets
    the contents, and it is an error to change one of the arrays."""

    def check_join(self, loop: Loop, specs: Sequence[Spec]) -> None:
        """Called after a trace of the body, with the joins of the specs before and after it."""

    def check_body(self, loop: Loop) -> None:
        """Called after the last trace."""


class _Selected(Form):
    selects = True


class _First(_Selected):
    """For the first attempt: ends with _Exchanged if the body changes arrays that it exchanges."""

    def check_join(self, loop: Loop, specs: Sequence[Spec]) -> None:
        if any(loop.changed) and _newly_chooses(loop, specs):
            variables = zip(loop.names, loop.init, loop.end.contained, strict=True)
            raise _Exchanged([
                (i, place) for i, (name, value, found) in enumerate(variables)
                if not (is_returned(name) or name.startswith(ALIASED)) for place, array in contents_of(value).items()
                if isinstance(array, ArrayCell) and any(one is not array for one in found.get(place, (None,)))])


def _newly_chooses(loop: Loop, specs: Sequence[Spec]) -> bool:
    return any(_chooses(new) and not _chooses(old) for old, new in zip(loop.specs, specs, strict=True))


def _chooses(spec: Spec) -> bool:
    """Whether a value of the spec is, or has, one of several arrays."""
    if isinstance(spec, Optional):
        return _chooses(spec.child)
    if isinstance(spec, Custom) and isinstance(spec.like, SelectedArray):
        return True
    return isinstance(spec, (Nested, Custom)) and any(map(_chooses, spec.children))


class _NumberedArray(ArrayCell):
    """An array that a variable has in the body of a loop, with the number of the array before the loop that it is."""

    __slots__ = ("number",)

    def __init__(self, leaf: GraphTensor, number: Any, layout: Layout) -> None:
        super().__init__(leaf, layout=layout)
        self.number = number

    def __leaves__(self) -> list[Any]:
        return [self.leaf, self.number]

    def __rebuild__(self, leaves: Sequence[Any]) -> Any:
        return _NumberedArray(as_tensor(leaves[0]), leaves[1], self.layout)

    def __become__(self, leaves: Sequence[Any]) -> None:
        self.leaf, self.number = leaves


class _Numbered(Form):
    """With numbered arrays in some places of the state."""

    selects = True

    def __init__(self, init: Sequence[Any], places: Places) -> None:
        self.init, self.places = init, places
        self.arrays: list[ArrayCell] = [contents_of(init[i])[place] for i, place in places]

    def begin(self) -> list[Any]:
        """The state with which the loop starts. Raises _Unsuited if the arrays are not of one type, or one of them is
        in two places."""
        if len({*map(id, self.arrays)}) < max(len(self.arrays), 2) or any(
                array.refusal is not None or array.type != self.arrays[0].type for array in self.arrays):
            raise _Unsuited
        layouts = {array.layout for array in self.arrays}
        layout = layouts.pop() if len(layouts) == 1 else None
        found: list[dict[Place, Any]] = [{} for _ in self.init]
        for number, ((i, place), array) in enumerate(zip(self.places, self.arrays, strict=True)):
            found[i][place] = _NumberedArray(array.__tensor__(), number, layout)
        return [*map(with_contents, self.init, found)]

    def check_join(self, loop: Loop, specs: Sequence[Spec]) -> None:
        if _newly_chooses(loop, specs):
            raise _Unsuited

    def check_body(self, loop: Loop) -> None:
        """Raise _Unsuited if the traced body does more with the arrays than exchange them."""
        if loop.out is None:
            return
        after = [contents_of(loop.out[i]).get(place) for i, place in self.places]
        others = [i for i, value in enumerate(self.init) if any(
            one is array and (i, place) not in self.places
            for place, one in contents_of(value).items() for array in self.arrays)]
        if not all(isinstance(array, _NumberedArray) for array in after) or any(
                loop.changed[i] or loop.uses(i) for i in others) or any(
                isinstance(one, ArrayCell) for one in loop.compared):
            raise _Unsuited
        for contained in loop.end.iterations:  # two variables may refer to one array, so another one is lost
            counts = Counter(id(one) for i, place in self.places for one in contained[i].get(place, ()))
            if any(count > 1 for count in counts.values()):
                raise _Unsuited

    def end(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The state after the loop: with the arrays themselves, which get their elements."""
        ended: list[_NumberedArray] = [contents_of(values[i])[place] for i, place in self.places]
        for number, array in enumerate(self.arrays):
            contents: Any = ended[0].leaf
            for other in ended[1:]:
                contents = where(equal(other.number, number), other.leaf, contents)
            array.write(contents)
        now = [array.value for array in self.arrays]
        found: list[dict[Place, Any]] = [{} for _ in values]
        for (i, place), one in zip(self.places, ended, strict=True):
            if isinstance(one.number, Tensor):
                chosen = SelectedArray(self.arrays, one.number)
                chosen.know(known(now, one.leaf))
                found[i][place] = chosen
            else:
                found[i][place] = self.arrays[one.number]
        return tuple(map(with_contents, values, found))


def exchanging(stage: Callable[[Sequence[Any], Form], tuple[Any, ...]], init: Sequence[Any]) -> tuple[Any, ...]:
    """The state after a loop with the state `init`, which `stage` traces in a form."""
    mark = checkpoint()

    def numbered() -> tuple[Any, ...]:
        form = _Numbered(init, places)
        return form.end(stage(form.begin(), form))

    try:
        return stage(init, _First())
    except _Exchanged as found:
        places = found.places
    before = [(container, parts_in(container)) for container in containers_in(init).values()]
    for attempt in (numbered, lambda: stage(init, _Selected())):
        rollback(mark)
        try:
            return attempt()
        except BaseException as exc:
            for container, parts in before:
                if not same_parts(parts, parts_in(container)):
                    fill(container, parts)
            if not isinstance(exc, (StagingError, _Unsuited)):
                raise
    rollback(mark)
    return stage(init, Form())
