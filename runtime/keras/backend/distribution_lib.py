"""Devices and sharding (`keras.distribution`): there is one device, and nothing is distributed."""
from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["get_device_count", "initialize", "list_devices", "num_processes", "process_id"]


def list_devices(device_type: str | None = None) -> list[str]:
    return ["cpu:0"] if device_type in (None, "cpu") else []


def get_device_count(device_type: str | None = None) -> int:
    return len(list_devices(device_type))


def num_processes() -> int:
    return 1


def process_id() -> int:
    return 0


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("the runtime backend runs in one process on one CPU device (whose cores it shares out by "
                              "itself): it cannot distribute variables or data. Train without keras.distribution.")


initialize = distribute_variable = distribute_tensor = distribute_data_input = _refuse
_to_backend_mesh = _to_backend_layout = _to_backend_device = _refuse
