"""Lists that grow, comprehensions, generator expressions, dicts, strings, slices."""
from __future__ import annotations

from programs import fixed, program


@program((4,), (1,))
def append_in_loop(n):
    out = []
    for i in range(n):
        out.append(i * i)
    return out


@program(([3, -1, 2, -5],), ([1],))
def append_under_condition(xs):
    out = []
    for x in xs:
        if x > 0:
            out.append(x)
    return out


@program((4,), (1,))
def append_then_length(n):
    out = []
    while n > 0:
        out.append(n)
        n -= 1
    return len(out), out[0], out[-1]


@program((4,), (1,))
def list_with_start(n):
    out = [10, 20]
    for i in range(n):
        out.append(out[-1] + i)
    return out


@program((5,), (2,))
def pop_in_loop(n):
    stack = []
    for i in range(n):
        stack.append(i)
    s = 0
    while len(stack) > 1:
        s = s * 2 + stack.pop()
    return s, len(stack)


@program((3,), (-3,))
def append_in_branch(x):
    out = [1]
    if x > 0:
        out.append(x)
    else:
        out.append(0)
    return out


@program((3,), (-3,))
def append_in_one_branch(x):
    out = [1, 2]
    if x > 0:
        out.append(x)
    return len(out), out


@program((3,), (1,))
def two_lists(n):
    evens, odds = [0], [0]
    for i in range(n):
        if i % 2 == 0:
            evens.append(i)
        else:
            odds.append(i)
    return evens, odds


@program((3,), (1,))
def list_is_iterated(n):
    xs = [1]
    for i in range(n):
        xs.append(i + xs[-1])
    s = 0
    for x in xs:
        s += x
    return s


@program((3,),)
def extend_and_assign(n):
    xs = [0, 0]
    for i in range(n):
        xs[1] = i
        xs[0] += xs[1]
    xs.extend([n, 7])
    return xs


@program(([1, 2, 3],),)
def list_comprehension(xs):
    return [x * 2 for x in xs]


@program((4,), (0,))
def comprehension_over_range(n):
    return [i * i + 1 for i in range(n)]


@program(([1, -2, 3, -4],))
def filtered_comprehension(xs):
    return [x for x in xs if x > 0]


@program((3,), (-3,))
def comprehension_over_python(x):
    return [x * k if x > 0 else k for k in (1, 2, 3) if k != 2]


@program((2,),)
def nested_comprehension(x):
    return [a * b + x for a in [1, 2] for b in [10, 20]]


@program((2,),)
def comprehension_of_comprehensions(x):
    return [[a * x for a in range(k)] for k in (1, 2)]


@program((2,), (-2,))
def dict_comprehension(x):
    return {k: x + v for k, v in {"a": 1, "b": 2}.items() if v > 0}


@program((fixed(3),),)
def set_comprehension(n):
    return sorted({i % 2 for i in range(n)})


@program((fixed(4), 3), (fixed(4), -3))
def generator_expression(n, x):
    return sum(i * x for i in range(n))


@program(([1, 2, 3],),)
def sum_of_comprehension(xs):
    return sum([x * x for x in xs])


@program((3,), (8,))
def comprehension_captures(n):
    k = 2
    out = [i * k for i in (1, 2)]
    if n > 5:
        k = 10
    return out, [i * k for i in (1, 2)]


@program((3,), (-3,))
def comprehension_calls_function(x):
    def clip(v):
        if v < 0:
            return 0
        return v

    return [clip(v) for v in (x, -x, 1)]


@program(([1, 2, 3, 4, 5],),)
def slices(xs):
    return xs[1:3], xs[:2], xs[-2:], xs[::2], xs[::-1], xs[2]


@program(([1, 2, 3, 4, 5], 1, 4), ([1, 2, 3], 0, 2))
def slices_by_argument(xs, i, j):
    return sum(xs[i:j]), xs[i], xs[j - 1]


@program(([10, 20, 30], 0), ([10, 20, 30], 2), ([10, 20, 30], -1))
def index_by_argument(xs, i):
    return xs[i]


@program((3, fixed({"a": 1})),)
def dict_methods(x, d):
    d = dict(d)
    d.update(b=x)
    total = 0
    for _, v in sorted(d.items()):
        total += v
    return total, d.get("c", 5), "b" in d, len(d)


@program((3,), (-3,))
def strings_stay_python(x):
    name = "rate"
    parts = []
    for word in (name, "b"):
        parts.append(word.upper())
    label = "-".join(parts)
    y = 0
    if x > 0:
        y = len(label)
    return y, label


@program((3,), (-3,))
def nested_structure_by_branch(x):
    state = {"h": (x, 0), "c": [1, 2]}
    if x > 0:
        state = {"h": (x + 1, x), "c": [x, 2]}
    (h, k), c = state["h"], state["c"]
    return h, k, c[0]


@program((4,), (0,))
def nested_structure_in_loop(n):
    state = {"h": (0, 1), "c": [1, 2]}
    for i in range(n):
        h, k = state["h"]
        state = {"h": (k, h + i), "c": [state["c"][1], h]}
    return state


@program((3,), (-3,))
def list_concatenation(x):
    a = [x, 1]
    b = a + [2]
    if x > 0:
        b = [5] + a
    return b


@program((3, 4), (0, 4))
def list_of_python_objects(x, y):
    pairs = [("a", x), ("b", y)]
    s = 0
    for name, v in pairs:
        if v > 0 and name != "z":
            s += v
    return s


@program((3,), (1,))
def tuple_grows_in_python_loop(n):
    out = ()
    for k in (1, 2):
        out = (*out, k * n)
    return out


@program(([4, 9, 2],),)
def min_max_by_loop(xs):
    low, high = xs[0], xs[0]
    for x in xs:
        low = x if x < low else low
        high = max(high, x)
    return low, high


@program((fixed([1, 2, 3]), 2), (fixed([1, 2, 3]), 7))
def membership_in_python_list(xs, k):
    hits = 0
    for x in xs:
        if x == k:
            hits += 1
    return hits


@program((4,), (0,))
def append_maybe_nothing(n):
    out = []
    for i in range(n):
        out.append(i)
    return len(out)


@program((5,), (1,))
def while_list_is_not_empty(n):
    todo = [n]
    steps = 0
    while todo:
        k = todo.pop()
        steps += 1
        if k > 1:
            todo.append(k - 2)
    return steps


@program((3,), (1,))
def append_tuples(n):
    pairs = []
    for i in range(n):
        pairs.append((i, i * 2))
    s = 0
    for a, b in pairs:
        s += a * b
    return s, len(pairs)


@program((3,), (1,))
def list_grown_by_addition(n):
    xs = [0]
    for i in range(n):
        xs = xs + [i]
    return len(xs), xs[-1]


@program((3,), (1,))
def list_grown_by_augmented_addition(n):
    xs = [0]
    for i in range(n):
        xs += [i, i]
    return len(xs), xs[-1]


@program((4, 2), (4, 0))
def item_of_grown_list(n, k):
    xs = []
    for i in range(n):
        xs.append(i * 10)
    xs[k] = -1
    return xs[k], xs[k + 1], len(xs)


@program((4,), (2,))
def list_shrinks(n):
    xs = [1, 2, 3, 4]
    for _ in range(n):
        xs.pop()
    xs.append(9)
    return len(xs), xs[-1]


@program((3,), (-3,))
def clear_in_branch(x):
    xs = [1, 2, 3]
    if x > 0:
        xs.clear()
    xs.append(x)
    return len(xs), xs[-1]


@program((3,), (-3,))
def insert_and_delete(x):
    xs = [1, 2, 3]
    xs.insert(0, x)
    del xs[1]
    s = 0
    for v in xs:
        s = s * 5 + v
    return s


@program((3,), (-3,))
def list_of_lists(x):
    rows = [[1, 2], [3, 4]]
    if x > 0:
        rows[0][1] = x
    rows[1].append(x)
    return rows[0][1] + rows[1][2], len(rows[1])


@program((3,), (-3,))
def dict_gets_new_key(x):
    d = {}
    if x > 0:
        d["a"] = x
    else:
        d["a"] = 0
    d["b"] = 1
    return d


@program((3, fixed(["a", "b", "a"])),)
def counting_in_dict(x, words):
    counts = {}
    for w in words:
        if w not in counts:
            counts[w] = 0
        counts[w] += x
    return counts


@program((4,), (0,))
def dict_values_in_loop(n):
    d = {"a": 0, "b": 1}
    for i in range(n):
        for key in d:
            d[key] += i
    return d


@program((3,), (-3,))
def tuple_of_tuples(x):
    state = ((1, 2), 3)
    if x > 0:
        state = ((x, 2), 4)
    (a, b), c = state
    return a + b * c


@program(([1, 2, 3, 4],),)
def slice_assignment(xs):
    xs[1:3] = [20, 30]
    return xs


@program(([1, 2, 3],), ([5, 1, 0],))
def list_comprehension_with_ternary(xs):
    return [x if x > 1 else 0 for x in xs]


@program((3,), (1,))
def returns_list_in_dict(n):
    out = {"values": [], "count": 0}
    for i in range(n):
        out["values"].append(i)
        out["count"] += 1
    return out["count"], len(out["values"])


@program((3,), (1,))
def attribute_list(n):
    class Log:
        def __init__(self):
            self.items = []

    log = Log()
    for i in range(n):
        log.items.append(i)
    return len(log.items), log.items[-1]


@program(([2, 0, 2, 7, 1],), ([5],), eager="an eager tensor has no hash")
def counts_by_the_keys_of_a_dict(xs):
    counts = {0: 0, 1: 0, 2: 0}
    others = 0
    for x in xs:
        if x not in counts:
            others += 1
        for key in counts:
            if x == key:
                counts[key] += 1
    return counts[0], counts[1], counts[2], others


@program((2, 1.0), (4, 1.5), (1, 0.0), eager="an eager tensor has no hash")
def number_among_the_keys_of_a_dict(x, y):
    names = {1: "one", 2: "two", "three": 3}
    return x in names, y in names, x not in names.keys(), x in {}.keys()
