"""Samples of the ops on lists, for `op_checks`: arguments and params."""
from __future__ import annotations

from typing import Any, Final

import numpy as np

from runtime.op import Sample
from runtime.tensor import EagerList
from runtime.types import ListType, TensorType, float32, float64

ROW: Final = TensorType(float32, (2,))
ANY_ROW: Final = TensorType(float32, (None,))
SCALAR: Final = TensorType(float32)


def rows(count: int, element: TensorType = ROW, size: int = 2) -> EagerList:
    shape = (size,) if element.ndim else ()
    return EagerList(tuple(np.full(shape, i, np.float32) for i in range(count)), ListType(element))


def _row(value: float, size: int = 2) -> Any:
    return np.full(size, value, np.float32)


def _index(*values: int) -> Any:
    return np.array(values, np.int32)


ONE: Final = np.int32(1)

LIST_SAMPLES: Final[dict[str, list[Sample]]] = {
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
}
