"""Settings of the runtime (`tf.config`), shared by all threads."""
from __future__ import annotations

from runtime.core.config import (
    allocated_memory,
    autograph_unroll_budget,
    autograph_unroll_seconds,
    check_executor,
    default_executor,
    experimental_functions_run_eagerly,
    experimental_run_functions_eagerly,
    functions_run_eagerly,
    get_soft_device_placement,
    native_cache,
    optimizer,
    run_functions_eagerly,
    set_autograph_unroll_budget,
    set_autograph_unroll_seconds,
    set_default_executor,
    set_native_cache,
    set_soft_device_placement,
    settings,
    threading,
    threads,
)
from runtime.core.config import (
    experimental as core_experimental,
)
from runtime.core.public_names import hint_at_public_names
from runtime.function.execution.executors import flush_subnormals
from runtime.ops.program_order import (
    LogicalDevice,
    PhysicalDevice,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    set_visible_devices,
)

__all__ = [
    "LogicalDevice",
    "PhysicalDevice",
    "allocated_memory",
    "autograph_unroll_budget",
    "autograph_unroll_seconds",
    "check_executor",
    "default_executor",
    "experimental",
    "experimental_functions_run_eagerly",
    "experimental_run_functions_eagerly",
    "flush_subnormals",
    "functions_run_eagerly",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "native_cache",
    "optimizer",
    "run_functions_eagerly",
    "set_autograph_unroll_budget",
    "set_autograph_unroll_seconds",
    "set_default_executor",
    "set_native_cache",
    "set_soft_device_placement",
    "set_visible_devices",
    "settings",
    "threading",
    "threads",
]


class experimental(core_experimental):
    """Memory statistics of native code, devices, and settings of TF that do nothing here (`tf.config.experimental`)."""

    list_physical_devices = staticmethod(list_physical_devices)
    list_logical_devices = staticmethod(list_logical_devices)
    get_visible_devices = staticmethod(get_visible_devices)
    set_visible_devices = staticmethod(set_visible_devices)


hint_at_public_names(__name__)
