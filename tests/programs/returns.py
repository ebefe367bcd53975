"""Early `return`, from anywhere."""
from __future__ import annotations

import contextlib

from programs import dataset, fixed, program


@program((3,), (0,), (-3,))
def sign(x):
    if x > 0:
        return 1
    return -1


@program((3,), (0,), (-3,))
def return_in_each_branch(x):
    if x > 0:
        return x
    elif x == 0:
        return 100
    else:
        return -x


@program((3,), (-3,))
def return_or_fall_off(x):
    if x > 0:
        return x


@program((3,), (-3,))
def bare_return(x):
    if x > 0:
        return
    return None


@program(([4, -2, 6],), ([4, 2],), ([-1],))
def return_from_for(xs):
    for x in xs:
        if x < 0:
            return x
    return 0


@program((30,), (1,))
def return_from_while(n):
    i = 0
    while i * i < n:
        i += 1
        if i == 4:
            return -i
    return i


@program((30,), (3,))
def return_from_while_true(n):
    i = 1
    while True:
        if i > n:
            return i
        i *= 2


@program((6, 8), (3, 7), (0, 1))
def return_from_nested_loops(n, wanted):
    for i in range(n):
        for j in range(n):
            if i * j == wanted:
                return i, j
    return -1, -1


@program(([1, 2, 30, -1], 10), ([5, 5, 5], 3), ([200], 0))
def search(xs, limit):
    total = 0
    for i, x in enumerate(xs):
        if x < 0:
            return i, total
        for y in range(x):
            if y > limit and not total % 7:
                break
            total += y
        else:
            total -= 1
        if total > 100:
            break
    return -1, total


@program((3,), (30,))
def return_from_loop_else(n):
    for i in range(n):
        if i > 10:
            break
    else:
        return -1
    return i


@program((3,), (-3,))
def return_from_with(x):
    with contextlib.nullcontext(5) as k:
        if x > 0:
            return k + x
        k = 1
    return k


@program((3,), (-3,))
def return_from_try(x):
    try:
        if x > 0:
            return x
        x = x * 2
    finally:
        x = 1000
    return x


@program((3,), (-3,))
def return_with_finally_print(x):
    try:
        if x > 0:
            return 1
    finally:
        print("done")
    return 2


@program((3,), (-3,))
def return_from_finally(x):
    try:
        if x > 0:
            return 1
        x = 5
    finally:
        return x + 100


@program((3,), (0,))
def return_from_except(x):
    try:
        y = 6 // int(x)
    except ZeroDivisionError:
        return -1
    return y


@program((10,), (3,))
def return_in_try_in_loop(n):
    s = 0
    for i in range(n):
        try:
            if i == 5:
                return s
            s += i
        finally:
            s += 1
    return -s


@program((5,), (-5,), (0,))
def work_between_returns(x):
    y = x + 1
    if x > 3:
        return y
    y *= 2
    if x < -3:
        return y
    y -= 7
    return y


@program((1, 1), (1, 0), (0, 1), (0, 0))
def returns_in_nested_branches(a, b):
    if a:
        if b:
            return 1
        c = 2
    else:
        if b:
            return 3
        c = 4
    return c * 10


@program((3,), (-3,))
def return_tuple(x):
    if x > 0:
        return x, x + 1
    return 0, 0


@program((3,), (-3,))
def return_dict(x):
    if x > 0:
        return {"value": x, "ok": 1}
    return {"value": 0, "ok": 0}


@program((3, 1.5), (-3, 1.5))
def return_int_or_float(n, x):
    if n > 0:
        return 0
    return x


@program((3,), (-3,))
def return_value_or_none(x):
    if x > 0:
        return x * x
    return None


@program((3, fixed([1, 2, 3, 4])), (9, fixed([1, 2])))
def return_from_python_loop(n, ks):
    for k in ks:
        if k == n:
            return k * 10
    return -1


@program((2,), (8,))
def return_from_loop_over_literal(n):
    for k in (1, 2, 3):
        if k == n:
            return k * 10
    return -1


@program((dataset([1, 2, 3, 4]), 3), (dataset([1, 2]), 3))
def return_from_dataset_loop(ds, wanted):
    for x in ds:
        if x == wanted:
            return x * 10
    return -1


@program((3,), (0,))
def code_after_return(x):
    if x > 0:
        return 1
        x = 100
    return x
    x = 200


@program((4,), (0,), (-1,))
def loop_then_return_in_branch(n):
    s = 0
    for i in range(n):
        s += i
    if s > 3:
        return s
    for i in range(3):
        s += 1
        if s > n:
            return -s
    return 1000


@program((5,), (15,))
def return_and_break_and_continue(n):
    s = 0
    for i in range(n):
        if i % 2:
            continue
        if i == 8:
            return -s
        if s > 100:
            break
        s += i * 2
    s += 1
    return s


@program((5,), (1,))
def two_loops_return(n):
    for i in range(n):
        if i == 3:
            return i
    for j in range(n):
        if j == 0:
            return -1
    return 7


@program(((1, 2),), ((5, 2),))
def return_argument_structure(pair):
    a, b = pair
    if a > b:
        return pair
    return b, a
