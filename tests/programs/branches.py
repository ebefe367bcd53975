"""`if`, `elif`, `else`, and what is bound after them."""
from __future__ import annotations

from programs import program


@program((3,), (0,), (-2,))
def absolute(x):
    if x < 0:
        x = -x
    return x


@program((5,), (-5,), (0,))
def three_ways(x):
    if x > 0:
        sign = 1
    elif x < 0:
        sign = -1
    else:
        sign = 0
    return sign


@program((7,), (-7,))
def both_variables(x):
    a, b = 1, 2
    if x > 0:
        a = x
    else:
        b = x
    return a, b


@program((4,), (1,))
def swap_in_branch(x):
    a, b = x, 2
    if a > b:
        a, b = b, a
    return a - b


@program((1, 2), (2, 1), (-1, 2), (-2, -1))
def nested_branches(a, b):
    if a > 0:
        if b > a:
            r = 1
        else:
            r = 2
    else:
        if b > 0:
            r = 3
        else:
            r = 4
    return r * 10 + a


@program((2,), (-2,))
def temporary_in_branch(x):
    if x > 0:
        t = x * 2
        y = t + 1
    else:
        t = x - 1
        y = t * t
    return y


@program((2,), (-2,))
def pass_branch(x):
    if x > 0:
        pass
    else:
        x = 0
    return x


@program((2,), (-2,))
def only_effect_on_else(x):
    y = 10
    if x > 0:
        pass
    elif x == 0:
        y = 0
    else:
        y += x
    return y


@program((3, 4.5), (-3, 4.5))
def int_or_float_by_branch(n, x):
    if n > 0:
        y = x
    else:
        y = 0
    return y * 2


@program((3,), (-3,))
def none_in_one_branch(x):
    found = None
    if x > 0:
        found = x
    if found is None:
        return -1
    return found * 2


@program((3,), (-3,))
def returns_none_or_value(x):
    result = None
    if x > 0:
        result = x + 1
    return result


@program((3,), (-3,))
def none_is_tested_not(x):
    best = None
    if x > 0:
        best = x
    if best is not None:
        best = best * 10
    else:
        best = 0
    return best


@program((3,), (-3,))
def unbound_in_one_branch(x):
    if x > 0:
        y = x
    return y + 1


@program((3,), (-3,))
def bound_where_it_is_read(x):
    if x > 0:
        y = x
    z = 0
    if x > 0:
        z = y
    return z


@program((1,), (0,))
def deleted_in_branch(x):
    y = 5
    if x > 0:
        del y
    else:
        y = 6
    return y


@program((2,), (0,))
def deleted_after_branch(x):
    if x > 0:
        t = x
    else:
        t = -1
    u = t + 1
    del t
    return u


@program((2,), (-2,))
def constant_test(x):
    if True:
        x += 1
    if 0:
        x = 100
    while False:
        x = 200
    return x


@program((True,), (False,))
def boolean_argument(flag):
    if flag:
        return 1
    return 0


@program((0,), (5,))
def truth_of_number(n):
    if n:
        r = 1
    else:
        r = 2
    return r


@program((2.5,), (-0.5,), (0.0,))
def float_branch(x):
    if x >= 1:
        y = x / 2
    elif x >= 0:
        y = x
    else:
        y = -x * 3
    return y


@program((3,), (8,), (20,))
def long_elif_chain(x):
    if x < 1:
        r = 1
    elif x < 4:
        r = 2
    elif x < 6:
        r = 3
    elif x < 10:
        r = 4
    elif x < 15:
        r = 5
    else:
        r = 6
    return r


@program((4,), (-4,))
def tuple_by_branch(x):
    if x > 0:
        pair = (x, x + 1)
    else:
        pair = (0, x)
    a, b = pair
    return a * b


@program((4,), (-4,))
def dict_by_branch(x):
    d = {"a": 1, "b": 2}
    if x > 0:
        d = {"a": x, "b": 0}
    return d["a"] - d["b"]


@program((3,), (-3,))
def python_value_on_both_sides(x):
    mode = "fast"
    scale = 2
    if x > 0:
        y = x * scale
    else:
        y = x
    if mode == "fast":
        y += 1
    return y
