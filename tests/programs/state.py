"""State beyond plain local variables: attributes, items, globals, nonlocals, augmented assignment."""
from __future__ import annotations

from programs import program

TOTAL = 0
LIMITS = {"low": 1, "high": 5}


class Box:
    def __init__(self, value=0):
        self.value = value
        self.log = ()


@program((4,), (0,))
def attribute_in_loop(n):
    box = Box()
    for i in range(n):
        box.value += i
    return box.value


@program((4,), (-4,))
def attribute_in_branch(x):
    box = Box(1)
    if x > 0:
        box.value = x
    else:
        box.value -= 1
    return box.value


@program((4,), (0,))
def nested_attribute(n):
    outer = Box(Box(1))
    while n > 0:
        outer.value.value *= 2
        n -= 1
    return outer.value.value


@program((3,), (-3,))
def attribute_bound_in_branch(x):
    box = Box()
    if x > 0:
        box.extra = x
    if x > 0:
        return box.extra
    return 1 if hasattr(box, "value") else 0


@program((4,), (0,))
def dict_item_in_loop(n):
    d = {"k": 1, "other": 7}
    for i in range(n):
        d["k"] += i
    return d["k"] + d["other"]


@program((4,), (-4,))
def dict_item_in_branch(x):
    d = {"k": 1}
    if x > 0:
        d["k"] = x
    return d


@program((4,), (0,))
def list_item_constant_index(n):
    counts = [0, 0]
    for i in range(n):
        if i % 2:
            counts[0] += 1
        else:
            counts[1] += i
    return counts[0], counts[1]


@program(([5, 6, 7], 1), ([5, 6, 7], 2))
def item_assignment(xs, i):
    xs[i] = 100
    return xs


@program(([5, 6, 7],),)
def item_augmented(xs):
    xs[0] += 10
    xs[-1] *= 2
    return xs


@program(([5, 6, 7], 5), ([5, 6, 7], 0))
def item_assignment_in_branch(xs, k):
    if k > 3:
        xs[0] = k
    else:
        xs[1] = -1
    return xs


@program(([1, 2, 3, 4],),)
def item_assignment_in_loop(xs):
    for i in range(len(xs)):
        xs[i] = xs[i] * i
    return xs


@program(([3, 1, 2, 5, 4],), ([2, 1],))
def bubble_sort(xs):
    n = len(xs)
    for i in range(n):
        for j in range(n - 1 - i):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = xs[j + 1], xs[j]
    return xs


@program(([[1, 2], [3, 4]],), eager="a tensor takes m[i, j], not m[i][j]", staged="a tensor takes m[i, j], not m[i][j]")
def nested_item_assignment(m):
    for i in range(2):
        m[i][0] = m[i][0] + m[i][1]
    return m


@program((4,), (0,))
def global_counter(n):
    global TOTAL
    TOTAL = 0
    for i in range(n):
        TOTAL += i
    return TOTAL


@program((4,), (-4,))
def global_in_branch(x):
    global TOTAL
    if x > 0:
        TOTAL = x
    else:
        TOTAL = 1
    return TOTAL * 2


@program((3,), (9,))
def global_is_read(x):
    if LIMITS["low"] < x < LIMITS["high"]:
        return x
    return -1


@program((4,), (0,))
def nonlocal_in_nested(n):
    total = 0

    def add(v):
        nonlocal total
        total += v

    for i in range(n):
        add(i)
    return total


@program((4,), (-4,))
def nonlocal_in_branch_of_nested(x):
    count = 10

    def bump():
        nonlocal count
        if x > 0:
            count += x
        else:
            count = 0
        return count

    first = bump()
    return first, count


@program((7,),)
def every_augmented_assignment(x):
    x += 3
    x -= 1
    x *= 5
    x //= 2
    x %= 13
    x **= 2
    x |= 8
    x &= 12
    x ^= 5
    return x


@program((7.0,),)
def augmented_division(x):
    x /= 2
    x -= 0.5
    return x


@program(((1, 2), 3),)
def tuple_targets(pair, c):
    (a, b), d = pair, c
    a, b, d = d, a, b
    [p, q] = b, d
    return a, b, d, p, q


@program(([1, 2, 3, 4],), ([1, 2],))
def starred_target(xs):
    first, *rest = [xs[0], xs[1], xs[0] + xs[1]]
    return first, rest


@program((5,), (0,))
def chained_targets(n):
    a = b = 0
    for i in range(n):
        a = b = b + i
    return a, b


@program((4,), (0,))
def attribute_target_of_for(n):
    box = Box(-1)
    s = 0
    for box.value in range(n):
        s += box.value
    return s, box.value


@program((3,),)
def item_target_of_tuple(x):
    d = {}
    box = Box()
    d["a"], box.value = x, x + 1
    return d["a"] * 10 + box.value


@program((4,), (0,))
def alias_of_list(n):
    a = []
    b = a
    for i in range(n):
        a.append(i)
    return b, len(b)


@program((3,), (-3,))
def object_swapped_in_branch(x):
    a, b = Box(1), Box(2)
    a.value, b.value = b.value, a.value
    if x > 0:
        a.value, b.value = b.value + x, a.value
    return a.value, b.value


@program((2,), (0,))
def delete_attribute_and_item(x):
    box, d = Box(x), {"k": x, "j": 1}
    del box.value, d["k"]
    if x > 0:
        d["j"] = x
    return hasattr(box, "value"), d


@program((3,), (-3,))
def conditional_expression_as_key(x):
    d = {"a": x, "b": 2}
    s = 0
    for key in ("a", "b"):
        if d[key] > 0:
            s += d[key]
    return s


@program((4,), (0,))
def state_in_two_objects(n):
    a, b = Box(0), Box(1)
    for _ in range(n):
        a.value, b.value = b.value, a.value + b.value
    return a.value


@program((5,), (1,))
def annotated_variables(n):
    total: int = 0
    i: int
    for i in range(n):
        total += i
        if total > 4:
            last: int = i
            total += last
    return total


REGISTER = []


@program((3,), (0,))
def global_list(n):
    global REGISTER
    REGISTER = []
    for i in range(n):
        REGISTER.append(i)
    return len(REGISTER)


@program((3,), (-3,))
def class_attribute(x):
    class Config:
        rate = 1

    if x > 0:
        Config.rate = x
    Config.rate += 1
    return Config.rate


@program((4,), (0,))
def swap_items(n):
    d = {"a": 1, "b": 2}
    for _ in range(n):
        d["a"], d["b"] = d["b"], d["a"] + d["b"]
    return d["a"], d["b"]


@program((3,), (0,))
def chained_attribute_and_variable(n):
    box = Box()
    for i in range(n):
        last = box.value = i * 2
    if n > 0:
        return last + box.value
    return box.value


@program((4,), (0,))
def parameter_is_state(n, total=5):
    for i in range(n):
        total += i
    return total


@program((3,), (-3,))
def attribute_set_to_none(x):
    box = Box(1)
    if x > 0:
        box.value = None
    if box.value is None:
        return -1
    return box.value


@program((3,), (-3,))
def del_and_rebind(x):
    y = x
    del y
    if x > 0:
        y = 1
    else:
        y = 2
    return y


def raise_counter(k):
    global COUNTER
    COUNTER = COUNTER + k if k > 1 else COUNTER


@program((4,), (1,), shown="the text has globals of its own, and the callee those of the module")
def global_that_a_callee_assigns(n):
    global COUNTER
    COUNTER = 10
    for i in range(n):
        if i != 2:
            raise_counter(i)
    return COUNTER


@program((3,), (0,))
def list_that_a_dict_holds_too(n):
    items = [0]
    d = {"items": items, "last": 0}
    if n > 2:
        d["items"][0] += n
        d["last"] = items[0]
        items[0] += 1
    for i in range(n):
        d["items"][0] += i
        items[0] += 1
        d["last"] = items[0]
    return d, items


@program((3,), (0,))
def list_that_an_object_holds_too(n):
    items = [0]
    box = Box(items)
    box.log = 0
    for i in range(n):
        box.value[0] += i
        items[0] += 1
        box.log = items[0]
    if n > 2:
        box.value[0] += 1
        items.append(n)
    return box.value[0], items, box.log
