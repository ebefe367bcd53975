"""`import runtime` loads what every program uses; the rest is loaded when one of its names is first asked for."""
from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import runtime as rt

ROOT = Path(__file__).resolve().parents[2]


def printed_by(program: str) -> str:
    """What a program prints in a process of its own."""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


LOADED = """
def loaded(*packages):
    return sorted(name for name in sys.modules if any(f"{name}.".startswith(f"{each}.") for each in packages))
"""


def test_a_program_pays_for_what_it_uses() -> None:
    shown = printed_by(f"""
import sys
import runtime as rt
{LOADED}
TRACING = "runtime.staging", "runtime.function.function", "runtime.optimize", "runtime.numbers", "autograph.api", "gast"
OTHERS = [f"runtime.{{name}}" for name in rt._LATE if rt._LATE[name][0] == "runtime" and name not in vars(rt)]
print(len(OTHERS) > 20, loaded(*OTHERS, *TRACING, "runtime.batching", "numpy.random", "logging", "difflib", "html"))
x = rt.Variable(rt.constant([1.0, 2.0]))
x.assign_add(rt.math.log(x * 2.0) + rt.nn.relu(x[0]))
assert not hasattr(x, "name_that_it_has_not") and rt.reduce_sum(x) > 0 and len(list(x)) == 2 and str(x) and repr(x)
print(loaded("runtime.numpy", "runtime.autodiff", *TRACING))
import numpy as np
np.sin(x)
print("runtime.numpy" in sys.modules, loaded("runtime.autodiff", *TRACING))
with rt.GradientTape() as tape:
    loss = rt.reduce_sum(x * x)
assert tape.gradient(loss, x) is not None
print("runtime.autodiff.rules.math" in sys.modules, loaded("runtime.batching", *TRACING))
rt.function(lambda x: x)
print(len(loaded("runtime.staging")) > 100, loaded("runtime.batching", "runtime.data"))
""")
    assert shown == "True []\n[]\nTrue []\nTrue []\nTrue []\n"


def test_deferred_names_are_what_type_checkers_see() -> None:
    tree = ast.parse((ROOT / "runtime/__init__.py").read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    declared = {alias.asname or alias.name: (node.module, alias.name) for node in block.body
                if isinstance(node, ast.ImportFrom) for alias in node.names}
    untyped = {"bfloat16", "keras", "losses", "metrics", "optimizers"}
    assert declared == {name: place for name, place in rt._LATE.items() if name not in untyped}
    for name, (module, original) in declared.items():
        assert getattr(rt, name) is (import_module(f"runtime.{name}") if module == "runtime"
                                     else getattr(import_module(str(module)), original))


def test_a_module_that_is_loaded_during_a_trace_adds_nothing_to_the_graph(tmp_path: Path) -> None:
    program = """
import sys
import runtime as rt
@rt.function
def plain(x):
    return x + 1.0
@rt.function
def loads(x):
    for name in rt.__all__:
        getattr(rt, name)
    return x + 1.0
def traced(f):
    graph = f.get_concrete_function(rt.TensorSpec([], rt.float32)).graph
    return [node.op.name for node in graph.walk()], graph.captures
expected, before = traced(plain), len(sys.modules)
print(traced(loads) == expected, len(sys.modules) - before > 100)
"""
    file = tmp_path / "program.py"  # a function without a file would not convert
    file.write_text(program)
    assert printed_by(f"import runpy\nrunpy.run_path({str(file)!r})") == "True True\n"


def test_threads_use_deferred_modules_first_at_the_same_time() -> None:
    program = """
import threading
import runtime as rt
barrier, found = threading.Barrier(4), []
def use(k):
    barrier.wait()
    names = ["train", "data", "image", "signal", "saved_model", "GradientTape", "vmap", "TensorArray"]
    for name in names[2 * k:] + names[:2 * k]:
        getattr(rt, name)
    f = rt.function(lambda x: rt.reduce_sum(x * 2.0), executor="numpy")
    found.append(float(f(rt.constant([1.0, 2.0]))))
threads = [threading.Thread(target=use, args=(k,)) for k in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(found)
"""
    assert printed_by(program) == "[6.0, 6.0, 6.0, 6.0]\n"


def test_ops_are_found_by_name() -> None:
    program = """
import pkgutil
import sys
from importlib import import_module
import runtime
from runtime.core.op import REGISTRY
before = len(REGISTRY), "conv" in REGISTRY
print(REGISTRY["conv"], before[0] < len(REGISTRY), before[1])
try:
    REGISTRY["no_such_op"]
except KeyError as error:
    print("KeyError", error)
all_ops = set(REGISTRY)
for each in pkgutil.walk_packages(runtime.__path__, "runtime."):
    if not each.name.startswith(("runtime.keras", "runtime.backends.native", "runtime.__main__")):
        import_module(each.name)
print(set(REGISTRY) - all_ops)
"""
    assert printed_by(program) == "<op conv> True False\nKeyError 'no_such_op'\nset()\n"


def test_asking_a_package_for_a_submodule_loads_nothing_else() -> None:
    """`from package import submodule` asks for the attribute first, which fails."""
    program = """
import sys
import runtime
from runtime.numpy import sets
from runtime import special
print(special.__name__, [name for name in ("runtime.missing_names", "difflib") if name in sys.modules])
"""
    assert printed_by(program) == "runtime.special []\n"
