"""Files of saved models that somebody changed: errors of one class, never a crash, soon and in little memory."""
from __future__ import annotations

import contextlib
import json
import random
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from saved_model.models import Net

import runtime as rt

VALUES: list[Any] = [
    None, True, 0, -1, 1, 2**70, 10**9, 1.5, "", "x", "const", [], {}, {"graph": {}}, {"array": ["array/0", False]},
    {"dtype": "float32"}, {"variable": 0}, {"variable": 99}, {"error": "SystemExit"}, {"class": 0}, {"routine": 0},
    [[[]]], {"leaf": 5}, {"float": "zz"}, {"tensor": [{"dtype": "int32"}, [10**9, 10**9], False]}, {"bytes": "!!"},
]


def paths(x: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list) else ()
    for key, part in items:
        yield from paths(part, (*path, key))


def at(x: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        x = x[key]
    return x


def changed_document(r: random.Random, text: bytes, places: list[tuple[Any, ...]]) -> bytes:
    document = json.loads(text)
    for _ in range(r.choice([1, 1, 1, 2, 5])):
        *outer, last = r.choice(places)
        try:
            around = at(document, tuple(outer))
            choice = r.random()
            if choice < 0.6:
                around[last] = json.loads(json.dumps(r.choice(VALUES)))
            elif choice < 0.8:
                del around[last]
            else:
                around[last] = json.loads(json.dumps(at(document, r.choice(places))))
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    return json.dumps(document).encode()


def changed_bytes(r: random.Random, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(r.choice([1, 3, 20])):
        made[r.randrange(min(len(made), r.choice([8, 2000, len(made)])))] = r.randrange(256)
    return bytes(made[:r.randrange(len(made))] if r.random() < 0.3 else made)


def call(loaded: Any) -> None:
    """Call what is valid and not what was saved: a result, or an error of the runtime."""
    for f in vars(loaded).values():
        for trace in f.traces if isinstance(f, rt.saved_model.LoadedFunction) else ():
            inputs = [rt.ones([5 if n is None else n for n in spec.shape], spec.dtype) for spec in trace.specs]
            with contextlib.suppress(rt.errors.OpError):
                trace.function(*inputs)


def test_changed_files(tmp_path: Path) -> None:
    net = Net()
    net.step(np.ones((5, 3), np.float32))
    rt.saved_model.save(net, tmp_path)
    graph = tmp_path / "graph.json"
    text = graph.read_bytes()
    arrays = tmp_path / json.loads(text)["arrays"]
    data = arrays.read_bytes()
    places = list(paths(json.loads(text)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = 0
    for seed in range(400):
        r = random.Random(seed)
        kind = r.random()
        graph.write_bytes(changed_document(r, text, places) if kind < 0.7 else changed_bytes(r, text) if kind < 0.85
                          else text)
        arrays.write_bytes(data if kind < 0.85 else changed_bytes(r, data))
        start = time.process_time()
        try:
            loaded = rt.saved_model.load(tmp_path)
        except (rt.errors.DataLossError, rt.errors.UnimplementedError):
            refused += 1
        else:
            call(loaded)
        assert time.process_time() - start < 5, seed
    assert refused > 300
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB


def test_deep_nesting(tmp_path: Path) -> None:
    rt.saved_model.save(rt.function(lambda x: x, input_signature=[rt.TensorSpec([])]), tmp_path)
    graph = tmp_path / "graph.json"
    document = json.loads(graph.read_text())
    value: Any = 1
    for _ in range(500):
        value = [value]
    graph.write_text(json.dumps({**document, "objects": [{"value": value}]}))
    with pytest.raises(rt.errors.DataLossError):
        rt.saved_model.load(tmp_path)
    graph.write_text("[" * 100_000)
    with pytest.raises(rt.errors.DataLossError):
        rt.saved_model.load(tmp_path)
