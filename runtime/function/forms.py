"""The forms in which a traced function has its arrays, objects, lists and dicts: found by trial, the plainest first."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from autograph.backend import as_records
from runtime.core.array_mode import NeedsArrayObjects, NeedsRecords, NeedsSets, TraceAgain, with_sets
from runtime.core.generator_frames import with_generators
from runtime.core.object_mode import (
    Key,
    Name,
    NeedsAdoption,
    NeedsOneArena,
    NeedsReferences,
    NeedsReferencesIn,
    by_reference,
    name_of,
)
from runtime.function.arguments.argument_structure import is_array
from runtime.staging.joins.container_arenas import ContainerArenas
from runtime.staging.joins.reference_unions import Union
from runtime.staging.storage.arenas import Arena

__all__ = ["Forms"]

T = TypeVar("T")


class Forms:
    """How a traced function uses arrays and objects.

    objects    whether arrays are objects in its traces, because it changes some
    sets       whether the sets that it makes are sets of the graph, because tensors become items of them
    captured   the NumPy arrays that it changes and that are not arguments
    classes    the plain classes of objects that it makes in loops or branches, so that they are state
    references the classes of objects that it makes and refers to by several names, with their attributes; `are_mixed`:
               whether a variable, or an element of a list, may be of several of these; `adopts`: whether objects of
               these classes from before the call are by reference, too
    containers None if it has its lists and dicts by value; else the keys of those that are in one arena
               (`ContainerArenas`); `variables_by_reference`: the variables whose containers are by reference
    """

    def __init__(self) -> None:
        self.objects = False
        self.classes: frozenset[type] = frozenset()
        self.references: dict[Name, tuple[type, tuple[str, ...]]] = {}
        self.are_mixed = self.adopts = False
        self.containers: dict[Key, Key] | None = None
        self.variables_by_reference: frozenset[Key] = frozenset()
        self.refers_to_outside = False
        self.sets = False
        self.captured: list[Any] = []

    def traced(self, once: Callable[[], T]) -> T:
        """The result of `once`, which traces: in the plainest form that the function allows, then in others."""
        return with_generators(lambda: _Trials(self).traced(once))

    @contextmanager
    def restored_on_error(self) -> Iterator[None]:
        """Forget what a trace that fails has found out: a trace of other types may not need it."""
        known, captured = dict(vars(self)), list(self.captured)
        try:
            yield
        except BaseException:
            vars(self).update(known, captured=captured)
            raise

    def arenas(self) -> Mapping[Name, Arena]:
        """New arenas for a trace, by the names of classes."""
        if self.are_mixed:
            return dict.fromkeys(self.references, Union(dict(self.references.values()), 0))
        return {name: Arena(attributes, k) for k, (name, (_, attributes)) in enumerate(self.references.items())}

    def container_arenas(self) -> ContainerArenas | None:
        """New arenas of lists and dicts for a trace; None if it has these by value."""
        return None if self.containers is None else ContainerArenas(
            self.containers, self.variables_by_reference, self.refers_to_outside)


class _Trials:
    """The trials of one call. Where none succeeds, the error is that of the trace by value."""

    def __init__(self, forms: Forms) -> None:
        self.forms = forms
        self.known = forms.references, forms.are_mixed, forms.containers, forms.adopts
        self.by_value: Exception | None = None
        """The error of the trace by value."""
        self.needs_containers = False
        """Whether lists or dicts by value were the cause of an error."""
        self.may_adopt = True
        """Whether objects from before the call may become ones by reference before there is an error."""
        self.may_fail = False
        """Whether they have, so that the function is traced by value if that fails."""

    def traced(self, once: Callable[[], T]) -> T:
        forms = self.forms
        while True:
            containers = forms.container_arenas()
            try:
                with as_records(forms.classes), with_sets(forms.sets), by_reference(
                        forms.arenas(), containers, self.may_adopt and not forms.adopts) as mode:
                    return once()
            except NeedsReferences as needed:
                if self._refer_to_outside(containers):
                    continue
                self.needs_containers |= mode.needs_containers
                self._refer(mode, needed.error)
            except NeedsRecords as needed:
                if name_of(needed.cls) in map(name_of, forms.classes):
                    self._refer(mode, needed.error)
                forms.classes |= {needed.cls}
            except NeedsAdoption:
                self.may_fail = True
                self._adopt(mode)
            except TraceAgain as needed:
                self._change(needed, containers)
            except Exception as error:
                if self._refer_to_outside(containers):
                    continue
                if self.by_value is None and not self.may_fail:
                    raise
                self.needs_containers |= mode.needs_containers
                self._refer_to_more(mode, error)

    def _refer_to_outside(self, containers: ContainerArenas | None) -> bool:
        """Have those containers from before the call by reference that a failed trace has chosen from, if there are
        such."""
        if containers is None or not containers.has_outside:
            return False
        self.forms.refers_to_outside = True
        return True

    def _refer(self, mode: by_reference, error: Exception) -> None:
        """Have more by reference; else raise the error."""
        if not self.may_fail:
            self.by_value = self.by_value or error
        if mode.made:
            self.forms.references = {**self.forms.references, **mode.made}
        elif self.needs_containers and self.forms.containers is None:
            self.forms.containers = {}
        elif not self._adopt(mode):
            self._give_up(error)

    def _refer_to_more(self, mode: by_reference, error: Exception) -> None:
        """Have objects of several classes in one arena, then lists and dicts by reference; else raise the error."""
        forms = self.forms
        if not forms.are_mixed and len(forms.references) > 1:
            forms.are_mixed = True
        elif self.needs_containers and forms.containers is None:
            forms.containers, forms.are_mixed = {}, self.known[1]
        elif not self._adopt(mode):
            self._give_up(error)

    def _adopt(self, mode: by_reference) -> bool:
        """Have objects from before the call by reference, too; returns whether there are more then."""
        forms = self.forms
        if forms.adopts or not (found := mode.outside()):
            return False
        forms.references, forms.are_mixed, forms.containers, _ = self.known
        forms.references, forms.adopts = {**forms.references, **mode.made, **found}, True
        return True

    def _give_up(self, error: Exception) -> None:
        """Raise the error of the trace by value, or trace by value if that has not been tried."""
        forms, by_value = self.forms, self.by_value
        forms.references, forms.are_mixed, forms.containers, forms.adopts = self.known
        if by_value is not None:
            raise by_value from (None if error is by_value else error.with_traceback(None))
        self.may_adopt = self.may_fail = False

    def _change(self, needed: TraceAgain, containers: ContainerArenas | None) -> None:
        """Take the form that a trace has asked for."""
        forms = self.forms
        if isinstance(needed, NeedsSets):
            forms.sets = True
        elif isinstance(needed, NeedsOneArena):
            assert forms.containers is not None and containers is not None
            first = containers.first(needed.key)
            forms.containers |= dict.fromkeys(map(containers.first, needed.others), first)
        elif isinstance(needed, NeedsReferencesIn):
            forms.variables_by_reference |= needed.keys
        elif isinstance(needed, NeedsArrayObjects):
            new = [array for array in needed.arrays if is_array(array) and not any(
                array is known for known in forms.captured)]
            if forms.objects and not new:
                raise needed.error from None
            forms.objects = True
            forms.captured += new
        else:
            raise needed
