"""Programs over TensorArray, datasets and staged lists."""
from __future__ import annotations

import runtime as rt
from programs import dataset, runtime_program


@runtime_program((4,), (1,))
def array_of_squares(n):
    out = rt.TensorArray(rt.int32, size=0, dynamic_size=True)
    for i in range(n):
        out = out.write(i, i * i)
    return out.stack()


@runtime_program(([3.0, -1.0, 2.0],),)
def array_under_condition(xs):
    out = rt.TensorArray(rt.float32, size=3)
    for i, x in enumerate(xs):
        if x > 0:
            out = out.write(i, x)
        else:
            out = out.write(i, -x)
    return out.stack()


@runtime_program(([[1, 2], [3, 4], [5, 6]],),)
def array_unstacked(m):
    rows = rt.TensorArray(rt.int32, size=3).unstack(m)
    s = rt.constant([0, 0])
    for i in range(3):
        s += rows.read(i) * (i + 1)
    return s


@runtime_program((4,), (1,))
def array_read_back(n):
    values = rt.TensorArray(rt.int32, size=0, dynamic_size=True, clear_after_read=False)
    values = values.write(0, 1)
    for i in range(n):
        values = values.write(i + 1, values.read(i) * 2)
    return values.stack(), values.size()


@runtime_program(([1.0, 2.0, 3.0], 0.5), ([4.0], 1.0))
def recurrent_outputs(xs, decay):
    outputs = rt.TensorArray(rt.float32, size=len(xs))
    h = rt.constant(0.0)
    for t in range(len(xs)):
        h = h * decay + xs[t]
        outputs = outputs.write(t, h)
    return outputs.stack(), h


@runtime_program((dataset([1, 2, 3, 4]),),)
def dataset_of_dataset(ds):
    total = 0
    for x in ds.map(lambda v: v * 2).filter(lambda v: v > 2):
        total += x
    return total


@runtime_program((dataset([1, 2, 3, 4, 5]),),)
def batched_dataset(ds):
    total = 0
    for batch in ds.batch(2):
        total = total * 3 + rt.reduce_sum(batch)
    return total


@runtime_program((dataset([1, 2, 3]),), (dataset([5]),))
def enumerated_dataset(ds):
    total = 0
    for i, x in enumerate(ds):
        total += rt.cast(i, rt.int32) * x
    return total


@runtime_program((dataset([1, 2, 3]), dataset([10, 20])),)
def zipped_datasets(a, b):
    total = 0
    for x, y in zip(a, b):
        total += x * y
    return total


@runtime_program((4,), (0,))
def range_dataset(n):
    total = rt.constant(0, rt.int64)
    for x in rt.data.Dataset.range(5):
        if x < rt.cast(n, rt.int64):
            total += x
    return total


@runtime_program((dataset([1, 2, 3, 4]),),)
def dataset_reduce(ds):
    return ds.reduce(0, lambda s, x: s * 2 + x)


@runtime_program((dataset([1, 2, 3]),),)
def dataset_iterator(ds):
    it = iter(ds)
    a = next(it)
    b = next(it)
    return a * 10 + b


@runtime_program((dataset([(1, 2.0), (3, 4.0)]),),)
def pairs_with_break(ds):
    best = rt.constant(0.0)
    for n, x in ds:
        if n > 2:
            break
        best += x
    return best


@runtime_program((3,), (1,))
def staged_list_stacked(n):
    xs = []
    for i in range(n):
        xs.append(rt.cast(i, rt.float32) / 2)
    return rt.stack(xs)


@runtime_program((3,), (1,))
def staged_list_of_vectors(n):
    rows = [rt.constant([0, 0])]
    for i in range(n):
        rows.append(rows[-1] + [i, 1])
    return rt.stack(rows), rows[-1], len(rows)


@runtime_program(([4, 0, 7, 0],),)
def filtered_into_list(xs):
    kept = []
    for x in xs:
        if x != 0:
            kept.append(x)
    return rt.stack(kept)
