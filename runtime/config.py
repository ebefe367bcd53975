"""Settings of the runtime (`tf.config`), shared by all threads."""
from __future__ import annotations

from runtime.core.config import (
    allocated_memory,
    autograph_unroll_budget,
    autograph_unroll_seconds,
    check_executor,
    default_executor,
    experimental,
    experimental_functions_run_eagerly,
    experimental_run_functions_eagerly,
    functions_run_eagerly,
    native_cache,
    run_functions_eagerly,
    set_autograph_unroll_budget,
    set_autograph_unroll_seconds,
    set_default_executor,
    set_native_cache,
    settings,
    threading,
    threads,
)
from runtime.function.executors import flush_subnormals
from runtime.ops.program_order import LogicalDevice, PhysicalDevice, list_logical_devices, list_physical_devices

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
    "list_logical_devices",
    "list_physical_devices",
    "native_cache",
    "run_functions_eagerly",
    "set_autograph_unroll_budget",
    "set_autograph_unroll_seconds",
    "set_default_executor",
    "set_native_cache",
    "settings",
    "threading",
    "threads",
]
