"""Lists that a tensor is the index of, in loops that change them."""
from __future__ import annotations

from programs import program


@program((6,), (2,), (0,))
def list_reads_itself_as_it_grows(n):
    fib = [0, 1]
    for i in range(2, n):
        fib.append(fib[i - 1] + fib[i - 2])
    return fib


@program(([3, 1, 2, 3],), ([0],))
def list_of_counts(labels):
    counts = [0] * 4
    for label in labels:
        counts[label] += 1
    best = 0
    for i in range(4):
        if counts[i] > counts[best]:
            best = i
    return counts, best


@program(([3, 1, 2],), ([4, 3, 2, 1],), ([1],))
def list_sorted_in_a_test(xs):
    out = [0, 0, 0, 0]
    k = 0
    for x in xs:
        out[k] = x
        j = k
        while j > 0 and out[j - 1] > out[j]:
            out[j - 1], out[j] = out[j], out[j - 1]
            j -= 1
        k += 1
    return out


@program((5,), (1,))
def list_indexed_in_an_inner_loop(n):
    ways = [1, 0, 0, 0, 0, 0]
    for coin in range(1, n):
        for total in range(coin, 6):
            ways[total] += ways[total - coin]
    return ways


@program((4,), (0,))
def list_appended_to_and_indexed_in_branches(n):
    out = []
    for i in range(n):
        out.append(i)
        if i % 2:
            out[i] = out[i - 1] - out[i]
    return out


@program((4,), (2,))
def list_of_an_object_indexed(n):
    class Box:
        pass

    box = Box()
    box.items = [1, 2, 3, 4]
    for i in range(n):
        box.items[i] *= 10
    d = {"a": [1, 2, 3, 4]}
    for i in range(n):
        d["a"][i] += i
    return box.items, d


@program((4,), (0,))
def list_indexed_before_it_grows(n):
    out = [7]
    for i in range(n):
        print(out[i])
        if i > 1:
            break
        out.append(out[-1] + i)
    return out


@program((4,), (0,))
def two_lists_that_read_each_other(n):
    a = [1]
    b = [2.5]
    for i in range(n):
        a.append(a[i] + 1)
        b.append(b[i] * a[i])
        a[0] = a[-1]
    return a, b


@program((4,), (0,))
def list_of_pairs_indexed(n):
    pairs = [(0, 1)]
    for i in range(n):
        x, y = pairs[i]
        pairs.append((y, x + y))
    return pairs


@program((3,), (1,))
def list_of_rows_put_back(n):
    rows = [[0, 1] for _ in range(n)]
    for i in range(n):
        row = list(rows[i])
        row[1] += i
        rows[i] = row
    k = n - 1
    last = rows[k]
    last[0] = 7
    rows[k] = last
    return rows
