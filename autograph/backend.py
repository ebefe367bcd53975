"""What autograph offers to backends: all that a backend imports from it besides the public functions.

`Backend` is what a framework implements (`autograph/core/backend.py`). The rest serves backends that trace: which
frames are the user's, what a body can reach and change, and where objects are referenced.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograph import operators
from autograph.core import cache_entries
from autograph.core.access_paths import name_of, path_of, unnumbered
from autograph.core.allowlist import PACKAGES, exclusion_rule, rule_of_library
from autograph.core.backend import (
    HEAP_TYPE,
    UNBOUND,
    Backend,
    Body,
    Checkpoint,
    Handler,
    Part,
    RaisedBy,
    Refused,
    RolledLoop,
    UnrolledLoop,
    Values,
    ambient,
    backend_of,
    has_backend,
    keyed,
    register_indexed,
    register_keyed,
    staging_backend,
)
from autograph.core.code_cache import inside, per_code, until_gone
from autograph.core.collection import rarely_collected
from autograph.core.deep_stack import lower_limit, raise_limit, users_limit, with_limit, with_room
from autograph.core.errors import ConversionError, format_error
from autograph.core.iterator_positions import Place, function_in, is_iterator, taken_by
from autograph.core.iterator_sources import Source
from autograph.core.late_binding import Late, deferred, deferred_names
from autograph.core.lists import DICTS, LIST_OR_DICT, LISTS, MUTATORS, is_collection, is_list, items_in, refill
from autograph.core.lost_iterators import lose
from autograph.core.slots import Globals, fields_in, is_users_class, is_users_object, put, take_out
from autograph.core.staged_items import ListItems, has_staged_items, is_reference
from autograph.core.trace_cleanup import at_end, of_trace, restored
from autograph.core.tracebacks import (
    convert_file,
    hide_package,
    is_body,
    is_converted,
    is_internal,
    prune,
    raised_by_program,
    settle,
)
from autograph.core.unknown_names import hint_at_names, unknown
from autograph.core.untracked_mutables import draws_random_numbers
from autograph.core.unwinding import FirstIteration, Remake, Unwinding
from autograph.core.versions import CALLS_SHARE_STACK, LOGGING_SKIPS_ITSELF, unbound_text
from autograph.dispatch.converted_call import is_unchanged, special_result, truth_value
from autograph.dispatch.special_methods import meeting
from autograph.dispatch.tuple_of_arguments import with_tuple_of_arguments
from autograph.operators.containers import split
from autograph.operators.contexts import guards_yield
from autograph.operators.generators import Clause, items_of, itself
from autograph.state.heap_snapshot import Heap, accept
from autograph.state.key_order import merged_keys
from autograph.state.reachability import (
    AttributeNames,
    Reach,
    Reached,
    cell_is_filled,
    is_of_converted_code,
    meet_all,
    names_of,
    only_atoms,
    only_records,
)
from autograph.state.references import is_outermost, outermost, references, scopes, variables, was_before
from autograph.state.statement_state import ALIASED
from autograph.state.structure import (
    ATOMS,
    as_records,
    can_be_record,
    consists_of_attributes,
    containers_in,
    declared_fields,
    duplicate,
    fields_of,
    fill,
    is_container,
    is_leaf,
    is_record,
    makes_its_objects,
    objects_in,
    parts_in,
    same_parts,
    unwrapped,
    with_parts,
)
from autograph.state.visible_changes import ReachedChanges, without_changes

if TYPE_CHECKING:
    from autograph.api import internal_iteration, unwrap
    from autograph.differential_check import Difference, changed_arguments, check, compare, copied, observe, running

__all__ = [
    "ALIASED",
    "ATOMS",
    "CALLS_SHARE_STACK",
    "DICTS",
    "HEAP_TYPE",
    "LISTS",
    "LIST_OR_DICT",
    "LOGGING_SKIPS_ITSELF",
    "MUTATORS",
    "PACKAGES",
    "UNBOUND",
    "AttributeNames",
    "Backend",
    "Body",
    "Checkpoint",
    "Clause",
    "ConversionError",
    "Difference",
    "FirstIteration",
    "Globals",
    "Handler",
    "Heap",
    "Late",
    "ListItems",
    "Part",
    "Place",
    "RaisedBy",
    "Reach",
    "Reached",
    "ReachedChanges",
    "Refused",
    "Remake",
    "RolledLoop",
    "Source",
    "UnrolledLoop",
    "Unwinding",
    "Values",
    "accept",
    "ambient",
    "as_records",
    "at_end",
    "backend_of",
    "cache_entries",
    "can_be_record",
    "cell_is_filled",
    "changed_arguments",
    "check",
    "compare",
    "consists_of_attributes",
    "containers_in",
    "convert_file",
    "copied",
    "declared_fields",
    "deferred",
    "deferred_names",
    "draws_random_numbers",
    "duplicate",
    "exclusion_rule",
    "fields_in",
    "fields_of",
    "fill",
    "format_error",
    "function_in",
    "guards_yield",
    "has_backend",
    "has_staged_items",
    "hide_package",
    "hint_at_names",
    "inside",
    "internal_iteration",
    "is_body",
    "is_collection",
    "is_container",
    "is_converted",
    "is_internal",
    "is_iterator",
    "is_leaf",
    "is_list",
    "is_of_converted_code",
    "is_outermost",
    "is_record",
    "is_reference",
    "is_unchanged",
    "is_users_class",
    "is_users_object",
    "items_in",
    "items_of",
    "itself",
    "keyed",
    "lose",
    "lower_limit",
    "makes_its_objects",
    "meet_all",
    "meeting",
    "merged_keys",
    "name_of",
    "names_of",
    "objects_in",
    "observe",
    "of_trace",
    "only_atoms",
    "only_records",
    "operators",
    "outermost",
    "parts_in",
    "path_of",
    "per_code",
    "prune",
    "put",
    "raise_limit",
    "raised_by_program",
    "rarely_collected",
    "references",
    "refill",
    "register_indexed",
    "register_keyed",
    "restored",
    "rule_of_library",
    "running",
    "same_parts",
    "scopes",
    "settle",
    "special_result",
    "split",
    "staging_backend",
    "take_out",
    "taken_by",
    "truth_value",
    "unbound_text",
    "unknown",
    "unnumbered",
    "until_gone",
    "unwrap",
    "unwrapped",
    "users_limit",
    "variables",
    "was_before",
    "with_limit",
    "with_parts",
    "with_room",
    "with_tuple_of_arguments",
    "without_changes",
]
_LATE = deferred_names(globals(), {
    "autograph.api": ("internal_iteration", "unwrap"),
    "autograph.differential_check": (
        "Difference", "changed_arguments", "check", "compare", "copied", "observe", "running"),
})


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return _LATE.load(name)
    raise unknown(__name__, name, __all__)
