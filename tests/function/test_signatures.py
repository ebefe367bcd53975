"""What mypy knows of traced functions, tensors and variables."""
from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = '''
from typing import Any

import runtime as rt

t, v = rt.constant(1.0), rt.Variable(1.0)
reveal_type(t + 1)  # Tensor
reveal_type(1 - t)  # Tensor
reveal_type(t < 1)  # Tensor
reveal_type(t[0, ...])  # Tensor
reveal_type(v * 2)  # Tensor

@rt.function
def f(x: rt.Tensor, n: int = 2) -> rt.Tensor:
    return x * n

reveal_type(f(t))  # Tensor
f(t, n="a")  # error
f(t, m=1)  # error
f()  # error
reveal_type(f.__name__)  # str
reveal_type(f.get_concrete_function(t))  # ConcreteFunction
reveal_type(f.explain())  # str
rt.function(f, nonsense=1)  # error
rt.function(nonsense=1)  # error

class Net(rt.Module):
    @rt.function(fast_math=True)
    def call(self, x: rt.Tensor) -> rt.Tensor:
        return x

reveal_type(Net().call(t))  # Tensor
Net().call(1, 2)  # error
Net().call(t, y=1)  # error
reveal_type(Net().call.explain())  # str

@rt.function
def count(x: rt.Tensor) -> int:
    return 1

@rt.function
def either(x: rt.Tensor) -> float | rt.Tensor:
    return 1.0

@rt.function
def pair(x: rt.Tensor) -> tuple[rt.Tensor, int]:
    return x, 1

@rt.function
def named(x: rt.Tensor) -> dict[str, int]:
    return {"a": 1}

@rt.function
def anything(x: Any, n: int = 1) -> Any:
    return x

reveal_type(count(t))  # Tensor
reveal_type(either(t))  # Tensor
reveal_type(pair(t)[1])  # Tensor
reveal_type(pair(t)[0])  # Tensor
reveal_type(named(t))  # dict
reveal_type(anything(t))  # Any
anything(t, k=1)  # error
reveal_type([x for x in t][0])  # Tensor
'''


@pytest.mark.slow
def test_types(tmp_path):
    pytest.importorskip("mypy")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "mypy", str(path)], cwd=ROOT,  # with the project's cache
                          capture_output=True, text=True, check=False, env={**os.environ, "MYPYPATH": str(ROOT)})
    found = {}
    for line, text in re.findall(r"program\.py:(\d+): (.*)", done.stdout):
        revealed = re.search(r'Revealed type is "([\w.]*\.)?(\w+)["\[]', text)
        if revealed is not None or text.startswith("error"):
            found.setdefault(int(line), revealed.group(2) if revealed else "error")
    expected = {i: line.split("# ")[1] for i, line in enumerate(PROGRAM.split("\n"), 1) if "# " in line}
    assert found == expected, done.stdout + done.stderr
