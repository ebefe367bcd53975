"""What `python -m tests.fuzz` has found, made small."""
from __future__ import annotations

from programs import program


class Box:
    def __init__(self) -> None:
        self.v = 0
        self.items = [1, 2]

    def grow(self) -> None:
        self.v = 1


@program((3, [4, 7, 1]), (0, [2]))
def item_of_a_list_of_an_object_in_loops(a, xs):
    box = Box()
    n = 0
    while n < 2:
        n += 1
        for x in xs:
            box.items[1] = x
    return box.items[1], a


@program((3, -2), (5, 0))
def object_and_list_change_in_branches(a, b):
    box = Box()
    out = []
    if b:
        box.items[0] = 31
    else:
        out.append(1)
    return a - 1, out


@program((3,), (0,))
def list_grows_where_a_method_changes_an_object(a):
    box = Box()
    out = []
    if not a:
        out.append(a)
        box.grow()
    return box.v, a, out


@program((3,), (0,), shown="Python takes an unbound variable of a body in a text for a free one: a NameError")
def unbound_in_an_unpacking(b):
    if b:
        v, b = v  # noqa: F821, RUF059
    return b


@program((3, 4), (2, 0))
def walrus_in_a_test_with_an_else(a, b):
    n = 0
    while (n := n + 1) < b:
        a += 1
    else:
        a = a + 10 * n
    return a, n


@program((3,), (0,))
def walrus_in_a_test_with_a_break_and_an_else(a):
    n = 0
    while (n := n + 1) < a:
        if n == 2:
            break
    else:
        n = -n
    return n


@program((3, 1), (1, 0), (4, 2))
def match_in_a_match(a, b):
    match a + 1:
        case c if b:
            match b + 1:
                case 2 | 4:
                    a = c
        case _:
            a = -1
    return a


@program((4,), (1,))
def nested_function_appends_in_its_branches(n):
    out = []

    def add(x):
        if x % 2 == 0:
            out.append(x)
        else:
            out.append(-x)

    for i in range(n):
        add(i)
    return out


@program((4,), (1,))
def nested_function_appends_in_nested_branches(n):
    out = []

    def add(x):
        out.append(x)

    if n > 2:
        if n > 3:
            add(n)
    return len(out)


@program((3,), (-3,), shown="Python takes an unbound variable of a body in a text for a free one: a NameError")
def read_where_only_the_other_branch_binds(x):
    if x > 0:
        y = x
        print(y)
    else:
        print(y)
    return x


@program((0, 3), (1, 3), shown="Python takes an unbound variable of a body in a text for a free one: a NameError")
def unbound_in_a_ternary_in_a_loop(a, n):
    for i in range(n):
        print(i if a else v)  # noqa: F821
        v = 1
    return a
