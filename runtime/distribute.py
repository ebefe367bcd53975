"""Strategies of one replica (`tf.distribute`): programs written for several devices run on the only one, the CPU."""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any, Final

from runtime.autodiff.custom import traceable
from runtime.core.errors import UnimplementedError
from runtime.core.positions import located
from runtime.core.public_names import Namespace, hint_at_public_names
from runtime.core.pytree import map_structure
from runtime.ops.reduction import reduce_mean, reduce_sum

__all__ = ["InputContext", "MirroredStrategy", "OneDeviceStrategy", "ReduceOp", "ReplicaContext", "Strategy",
           "get_replica_context", "get_strategy", "has_strategy", "in_cross_replica_context"]


class ReduceOp(Enum):
    """How values are combined (`tf.distribute.ReduceOp`)."""

    SUM = "SUM"
    MEAN = "MEAN"


def _reduction(op: Any) -> ReduceOp:
    try:
        return op if isinstance(op, ReduceOp) else ReduceOp[str(op).upper()]
    except KeyError:
        raise located(ValueError(f"a reduction is SUM or MEAN, not {op!r}")) from None


class InputContext:
    """What a function that makes a dataset is told (`tf.distribute.InputContext`)."""

    num_input_pipelines: Final = 1
    input_pipeline_id: Final = 0
    num_replicas_in_sync: Final = 1

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The size itself."""
        return global_batch_size


class ReplicaContext:
    """What a replica knows of itself (`tf.distribute.ReplicaContext`)."""

    replica_id_in_sync_group: Final = 0
    num_replicas_in_sync: Final = 1

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """The value itself, a structure of tensors."""
        _reduction(reduce_op)
        return value

    def all_gather(self, value: Any, axis: int, options: Any = None) -> Any:
        """The value itself, a structure of tensors."""
        return value

    def merge_call(self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        """`merge_fn(strategy, *args)`."""
        return traceable(merge_fn)(self.strategy, *args, **kwargs or {})


_entered = threading.local()


class Strategy:
    """A strategy of one replica on the CPU (`tf.distribute.Strategy`): `run` calls the function, and reductions of the
    replicas' values are the value."""

    num_replicas_in_sync: Final = 1

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A context in which this is the current strategy."""
        before = getattr(_entered, "strategy", None)
        _entered.strategy = self
        try:
            yield self
        finally:
            _entered.strategy = before

    def run(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None, options: Any = None) -> Any:
        """`fn(*args, **kwargs)`."""
        return traceable(fn)(*args, **kwargs or {})

    def reduce(self, reduce_op: Any, value: Any, axis: int | None) -> Any:
        """The value, or its sum or mean along an axis."""
        by = reduce_sum if _reduction(reduce_op) is ReduceOp.SUM else reduce_mean
        return value if axis is None else map_structure(lambda x: by(x, axis), value)

    def gather(self, value: Any, axis: int) -> Any:
        """The value itself."""
        return value

    def experimental_local_results(self, value: Any) -> tuple[Any]:
        """The values of the replicas: of one."""
        return (value,)

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """The dataset itself."""
        return dataset

    def distribute_datasets_from_function(self, dataset_fn: Callable[[InputContext], Any], options: Any = None) -> Any:
        """The dataset that the function makes."""
        return dataset_fn(InputContext())


class MirroredStrategy(Strategy):
    """The strategy of copies on several devices, of which there is one. UnimplementedError for more `devices`."""

    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: Any = None) -> None:
        if devices is not None and len(devices) > 1:
            raise located(UnimplementedError(f"there is one device, the CPU, not {len(devices)}",
                                             remedy="Leave the devices out."))


class OneDeviceStrategy(Strategy):
    """The strategy of a named device, which is the CPU. UnimplementedError for another."""

    def __init__(self, device: str = "cpu:0") -> None:
        if "cpu" not in device.lower():
            raise located(UnimplementedError(f"there is no device {device!r}", remedy="Use 'cpu:0'."))


_default: Final = Strategy()


class experimental(metaclass=Namespace):
    """Older names (`tf.distribute.experimental`)."""

    CentralStorageStrategy = MirroredStrategy


def get_strategy() -> Strategy:
    """The strategy of the innermost `scope`, or the default one."""
    found: Strategy | None = getattr(_entered, "strategy", None)
    return found or _default


def has_strategy() -> bool:
    """Whether a strategy's `scope` is open."""
    return getattr(_entered, "strategy", None) is not None


def get_replica_context() -> ReplicaContext:
    """The context of the only replica."""
    return ReplicaContext(get_strategy())


def in_cross_replica_context() -> bool:
    """Whether what runs belongs to no replica: it always belongs to the only one."""
    return False


hint_at_public_names(__name__)
