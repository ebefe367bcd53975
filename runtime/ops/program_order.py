"""TF's functions for devices and for the order of ops; here ops always run in program order."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from runtime.core.errors import InvalidArgumentError, locate
from runtime.core.positions import user_position
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.trace import convert_to_tensor
from runtime.ops.creation import identity

__all__ = [
    "get_visible_devices", "is_symbolic_tensor", "list_logical_devices", "list_physical_devices", "no_op",
    "set_visible_devices", "tuple",
]


class PhysicalDevice(NamedTuple):
    """A device of the machine (`tf.config.PhysicalDevice`)."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device that programs use (`tf.config.LogicalDevice`)."""

    name: str
    device_type: str


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices: one CPU (`tf.config.list_physical_devices`)."""
    return [PhysicalDevice("/physical_device:CPU:0", "CPU")] if device_type in (None, "CPU") else []


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices: one CPU (`tf.config.list_logical_devices`)."""
    return [LogicalDevice("/device:CPU:0", "CPU")] if device_type in (None, "CPU") else []


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that programs use: the CPU (`tf.config.get_visible_devices`)."""
    return list_physical_devices(device_type)


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Choose the devices that programs use (`tf.config.set_visible_devices`): no GPU, or the CPU. ValueError for
    others."""
    chosen = [devices] if isinstance(devices, (PhysicalDevice, str)) else list(devices)
    if not chosen and device_type in (None, "CPU"):
        raise ValueError("the CPU is the only device, and cannot be hidden")
    for each in chosen:
        if each not in list_physical_devices(device_type):
            raise ValueError(f"Unrecognized device: {each!r}; there are {list_physical_devices(device_type)}")


@contextmanager
def device(device_name: Any) -> Iterator[None]:
    """A context whose ops run on the CPU, the only device (`tf.device`). As in TF 2, which has soft placement, the name
    of another device has no effect; InvalidArgumentError for a text that names no device."""
    kinds = ("CPU", "GPU", "TPU", "XLA_CPU", "XLA_GPU")
    if isinstance(device_name, str) and device_name and not any(kind in device_name.upper() for kind in kinds):
        error = InvalidArgumentError(f"{device_name!r} names no device", remedy='The device here is "/CPU:0".')
        locate(error, user_position())
        raise error
    yield


@contextmanager
def control_dependencies(control_inputs: Iterable[Any] | None) -> Iterator[None]:
    """Ops inside run after others (`tf.control_dependencies`): no effect, since ops run in program order."""
    yield


def group(*inputs: Any, **kwargs: Any) -> None:
    """One op that runs all inputs (`tf.group`): no effect, since they have run, in program order."""
    if unknown := kwargs.keys() - {"name"}:
        raise TypeError(f"group() got an unexpected keyword argument {unknown.pop()!r}")


def no_op(name: str | None = None) -> None:
    """Does nothing (`tf.no_op`)."""


def tuple(tensors: Sequence[Any], control_inputs: Any = None, name: str | None = None) -> list[Any]:
    """The tensors, all of which have run (`tf.tuple`)."""
    return [None if x is None else convert_to_tensor(x, strings=True) for x in tensors]


def identity_n(input: Sequence[Any], name: str | None = None) -> list[Tensor]:
    """The tensors, unchanged (`tf.identity_n`)."""
    return [identity(x) for x in input]


def is_symbolic_tensor(tensor: Any) -> bool:
    """Whether it is a graph tensor, without a value (`tf.is_symbolic_tensor`)."""
    return isinstance(tensor, GraphTensor)
