"""Samples of the ops on lists, for `op_checks`: arguments and params."""
from __future__ import annotations

from typing import Any, Final

import numpy as np

from runtime.core.op import REGISTRY, Sample
from runtime.core.tensor import EagerList
from runtime.core.text import Hole, Template
from runtime.core.types import ListType, TensorType, float32, float64, int32, uint8

ROW: Final = TensorType(float32, (2,))
ANY_ROW: Final = TensorType(float32, (None,))
SCALAR: Final = TensorType(float32)


def rows(count: int, element: TensorType = ROW, size: int = 2) -> EagerList:
    shape = (size,) if element.ndim else ()
    return EagerList(tuple(np.full(shape, i, np.float32) for i in range(count)), ListType(element))


def texts(*encoded: bytes) -> EagerList:
    return EagerList(tuple(np.frombuffer(text, np.uint8) for text in encoded), ListType(TensorType(uint8, (None,))))


def several(*sizes: int | None) -> EagerList:
    """Rows of several sizes; None was not written."""
    items = [None if size is None else np.arange(size, dtype=np.float32) - k for k, size in enumerate(sizes)]
    return EagerList(tuple(items), ListType(ANY_ROW))


def _row(value: float, size: int = 2) -> Any:
    return np.full(size, value, np.float32)


def _index(*values: int) -> Any:
    return np.array(values, np.int32)


def _scalars(values: Any, dtype: Any, of: TensorType) -> EagerList:
    return EagerList(tuple(dtype(x) for x in values), ListType(of))


def table(count: int, slots: int = 8) -> list[EagerList]:
    """The lists of a hash table with keys of two parts, (3, 3.0), (2, 2.0), ...; the last one is deleted."""
    keys = range(3, 3 - count, -1)
    return [_scalars([0] * slots, np.int32, TensorType(int32)),
            _scalars([count, *[1] * (count - 1), 0], np.int32, TensorType(int32)),
            _scalars([0, *keys], np.int32, TensorType(int32)), _scalars([0, *keys], np.float32, SCALAR)]


def filled_table(count: int) -> list[EagerList]:
    """The same with the numbers of the entries in the slots."""
    slots, *rest = table(count)
    found = REGISTRY["hash_slots"].kernel(*[x.items for x in (slots, *rest)])
    return [EagerList(tuple(found), slots.type), *rest]


ONE: Final = np.int32(1)

PAIR: Final = {"record": Template(("(", ", ", ")"), (Hole("!r"), Hole("!r"))), "order": (1, 0)}

LIST_SAMPLES: Final[dict[str, list[Sample]]] = {
    "render_records": [((rows(2, SCALAR), rows(2)), PAIR), ((rows(0, SCALAR), rows(0)), PAIR)],
    "rank_texts": [((texts(b"b", b"", b"abc", b"b"),), {}), ((texts(),), {})],
    "list_new": [((_row(1), _row(2, 3)), {"element": ANY_ROW}), ((np.float32(1),), {"element": SCALAR}),
                 ((), {"element": ROW})],
    "list_reserve": [((np.int32(n),), {"element": ROW, "known": True}) for n in (0, 3)],
    "list_cast": [((rows(2),), {"element": TensorType(float64, (2,))}), ((rows(0),), {"element": ANY_ROW})],
    "list_append": [((rows(2), _row(7)), {}), ((rows(0), _row(7)), {}), ((rows(2), _row(7, 3)), {}),
                    ((rows(1, SCALAR), np.float32(3)), {})],
    "list_extend": [((rows(2), rows(1)), {}), ((rows(0), rows(2, size=2)), {})],
    "list_get": [((rows(3), np.int32(i)), {"element": ROW}) for i in (0, 2, -1)],
    "list_set": [((rows(3), np.int32(-1), _row(7)), {}), ((rows(1), np.int32(3), _row(7)), {"grow": True}),
                 ((rows(2), ONE, _row(7, 5)), {"strict": True})],
    "list_insert": [((rows(3), np.int32(i), _row(7)), {}) for i in (0, 1, 9)],
    "list_pop": [((rows(3),), {"element": ROW}), ((rows(3), np.int32(0)), {"element": ROW})],
    "list_length": [((rows(n),), {}) for n in (0, 2)],
    "list_slice": [((rows(4), ONE), {"given": (True, False, False)}),
                   ((rows(4), ONE, np.int32(-1)), {"given": (False, True, True)})],
    "list_stack": [((rows(n),), {"element": ROW}) for n in (0, 3)] + [((rows(2, SCALAR),), {"element": SCALAR})],
    "list_concat": [((rows(n),), {"element": ROW}) for n in (0, 3)],
    "list_from_tensor": [((np.ones((3, 2), np.float32),), {}), ((np.ones(2), np.int32(2)), {})],
    "list_split": [((np.ones((5, 2), np.float32), _index(2, 0, 3)), {})],
    "list_gather": [((rows(3), _index(2, 0)), {"element": ROW}), ((rows(3), _index()), {"element": ROW})],
    "list_scatter": [((rows(3), _index(2, 0), np.ones((2, 2), np.float32)), {}),
                     ((rows(1), _index(4), np.ones((1, 2), np.float32)), {"grow": True})],
    "hash_slots": [(tuple(table(count)), {}) for count in (1, 2, 5, 40)],
    "hash_find": [((*filled_table(count), np.int32(key), np.float32(other)), {})
                  for count in (1, 2, 40) for key, other in ((3, 3), (-5, -5), (3, 2), (4 - count, 4 - count))],
}
"""On lists of elements of one shape."""

SEVERAL: Final[dict[str, list[Sample]]] = {
    "list_new": [((), {"element": ANY_ROW}), ((_row(1, 0), _row(2, 3), _row(3, 1)), {"element": ANY_ROW})],
    "list_reserve": [((np.int32(n),), {"element": ANY_ROW, "known": True}) for n in (0, 3)],
    "list_cast": [((several(2, 3, 0),), {"element": TensorType(float64, (None,))}),
                  ((several(3, 3),), {"element": TensorType(float64, (3,))})],
    "list_append": [((several(2, None), _row(7)), {}), ((several(), _row(7, 0)), {})],
    "list_extend": [((several(2, 0, None), several(3, 1)), {}), ((several(), several(2, 4)), {}),
                    ((rows(2), several(1, 4)), {})],
    "list_get": [((several(None, 2, 3, 0), np.int32(i)), {"element": ANY_ROW}) for i in (0, 1, -1, -2)],
    "list_set": [((several(3, 2, 1), np.int32(-1), _row(7)), {}), ((several(4), np.int32(3), _row(7)), {"grow": True}),
                 ((several(2, None), ONE, _row(7, 5)), {"strict": True})],
    "list_insert": [((several(1, 3, 2), np.int32(i), _row(7, 4)), {}) for i in (0, 1, -1, 9)],
    "list_pop": [((several(1, 3),), {"element": ANY_ROW}), ((several(4, 2, 1), np.int32(0)), {"element": ANY_ROW}),
                 ((several(None, 2), np.int32(0)), {"element": ANY_ROW})],
    "list_length": [((several(3, None),), {}), ((several(),), {})],
    "list_slice": [((several(4, 0, None, 1), ONE), {"given": (True, False, False)}),
                   ((several(4, 1, 3), np.int32(-1)), {"given": (False, False, True)})],
    "list_stack": [((several(*sizes),), {"element": ANY_ROW}) for sizes in ((), (3, 3), (None, 2, 2), (0, 0))],
    "list_concat": [((several(*sizes),), {"element": ANY_ROW}) for sizes in ((), (3, 1, 0), (None, 2, 1, None))],
    "list_split": [((np.arange(15, dtype=np.float32).reshape(5, 3), _index(0, 5)), {}),
                   ((np.ones((0, 3), np.float32), _index()), {}),
                   ((np.ones((4, 1, 2), np.float32), np.array([1, 3], np.uint8)), {})],
    "list_gather": [((several(2, 3, None, 2), _index(*picked)), {"element": ANY_ROW})
                    for picked in ((3, 2, 0), (1,), ())],
    "list_scatter": [((several(3, None, 1), _index(2, 0), np.ones((2, 2), np.float32)), {}),
                     ((several(1), _index(4, 2), np.ones((2, 3), np.float32)), {"grow": True})],
}
"""On lists of elements of several shapes."""

for _name, _more in SEVERAL.items():
    LIST_SAMPLES[_name] = [*LIST_SAMPLES[_name], *_more]
