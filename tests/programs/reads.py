"""Variables, attributes and items that may not be there: Python raises where they are read, whatever is done then."""
from __future__ import annotations

from programs import program


@program((0,), (2,))
def handed_to_another_name(n):
    if n > 1:
        x = 1
    y = x
    return n


@program((0,), (2,))
def returned_in_a_try(n):
    if n > 1:
        x = 1
    try:
        return x
    except UnboundLocalError:
        return -1


@program((0,), (2,))
def in_a_tuple_that_nobody_needs(n):
    if n > 1:
        x = 1
    try:
        pair = (x, 1)
    except UnboundLocalError:
        return -1
    return 0


def same(value):
    return value


@program((0,), (2,))
def given_to_a_function(n):
    if n > 1:
        x = 1
    try:
        same(x)
    except UnboundLocalError:
        return -1
    return 0


@program((0,), (2,))
def deleted_before_it_is_read(n):
    x = 5
    if n > 1:
        del x
        y = 1
    else:
        y = x
    try:
        return x
    except UnboundLocalError:
        return y


@program((0,), (2,))
def deleted_twice(n):
    x = 1
    if n > 1:
        del x
    del x
    return n


@program((0,), (2,), (5,))
def after_a_loop_that_may_not_run(n):
    while n > 3:
        x = n
        n = n - 1
    y = x
    return n


@program((0,), (3,))
def after_a_for_that_may_not_run(n):
    for i in range(n):
        z = i
    pair = i, z
    return n


@program((0,), (3,))
def after_a_handler(n):
    try:
        y = 10 // n
    except ZeroDivisionError:
        pass
    z = y
    return n


@program((0,), (2,))
def of_a_function_around(n):
    if n > 1:
        x = 2
    read = lambda: x
    try:
        y = read()
    except NameError:
        return -1
    return n


class Box:
    pass


@program((0,), (2,))
def attribute(n):
    box = Box()
    if n > 1:
        box.value = 1
    try:
        found = box.value
    except AttributeError:
        return -1
    return n


@program((0,), (2,))
def attribute_returned(n):
    box = Box()
    if n > 1:
        box.value = 1
    try:
        return box.value
    except AttributeError:
        return -1


@program((0,), (2,))
def key(n):
    table = {}
    if n > 1:
        table["k"] = 1
    try:
        found = table["k"]
    except KeyError:
        return -1
    return n


@program((0,), (2,))
def key_deleted(n):
    table = {1: 0, 2: 5}
    if n > 1:
        del table[1]
    try:
        found = [table[1]]
    except KeyError:
        return -1
    return found[0]


@program((0,), (2,))
def what_is_sure_is_not_asked(n):
    while True:
        x = n
        if n < 5:
            break
        n -= 1
    try:
        y = x
    finally:
        z = y
    with_else = z
    return with_else
