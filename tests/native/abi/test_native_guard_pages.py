"""What guards find (guard.py), and that native code runs between them: a sample of the ops, each on its samples."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

import guard

pytestmark = pytest.mark.skipif(not guard.available(), reason="no C compiler")
TESTS = Path(__file__).parents[2]

PLANTED = {
    "read beyond the end": ("x.ctypes.data + 12", "ctypes.c_float.from_address(a).value"),
    "read after it was freed": ("freed", "ctypes.c_float.from_address(a).value"),
    "written before its begin": ("x.ctypes.data - 4", "ctypes.c_float.from_address(a).value = 1.0; del x"),
    "freed twice": ("slot.ctypes.data", "executor._free(a, 1, None); executor._free(a, 1, None)"),
}
HEAD = """
import sys, ctypes
sys.path.insert(0, sys.argv[1])
import guard
guard.install()
import numpy as np
from runtime.backends.native.jit import executor
x = np.arange(3, dtype=np.float32)
slot = np.zeros(3, np.int64)  # as native code has a list
grow = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(guard._address("guard_grow"))
grow(slot.ctypes.data, 12)
y = np.arange(3, dtype=np.float32)
freed = y.ctypes.data
del y
print("there", flush=True)
"""


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_fault_ends_the_process(what: str) -> None:
    address, fault = PLANTED[what]
    done = subprocess.run([sys.executable, "-c", f"{HEAD}a = {address}\n{fault}\n", str(TESTS)], capture_output=True,
                          text=True)
    assert done.stdout == "there\n" and done.returncode < 0, done


OPS = "reshape gather scatter getitem setitem slice concat pad list_insert list_gather searchsorted split".split()


@pytest.mark.parametrize("end", ["end", "start"])
def test_ops_stay_in_their_memory(end: str) -> None:
    chosen = [f"{TESTS / 'native/kernels/test_native_ops.py'}::test_samples[{name}]" for name in OPS[end == "start"::2]]
    environment = {"GUARD": end, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(TESTS.parent)}
    done = subprocess.run([sys.executable, str(TESTS / "guard.py"), "-q", "-p", "no:cacheprovider", *chosen],
                          capture_output=True, text=True, env=environment)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
