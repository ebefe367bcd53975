"""Names that could collide: builtins that the user shadows, `ag__`, generated names, private and dunder names."""
from __future__ import annotations

from programs import fixed, program

len_ = len


@program((3,), (0,))
def shadowed_builtins(n):
    sum, len, max = 0, 1, 2
    for range_ in range(n):
        sum += range_
        len *= 2
    return sum, len, max


@program((3,), (-3,))
def shadowed_range(n):
    def range(k):
        return [k, k + 1]

    s = 0
    for i in range(n):
        if i > 0:
            s += i
    return s


@program((3,), (-3,))
def shadowed_print(x):
    said = []

    def print(*values):
        said.append(values)

    if x is not None:
        print("a", 1)
    return len(said), x


@program((3,), (-3,))
def variable_called_ag(x):
    ag__ = 5
    if x > 0:
        ag__ += x
    return ag__


@program((3,), (-3,))
def argument_called_ag(ag__):
    if ag__ > 0:
        ag__ = -ag__
    return ag__


@program((5,), (1,))
def generated_names_as_variables(n):
    test, body, item_, left_, middle_ = 1, 2, 3, 4, 5
    if_true = if_false = while_test = for_test = for_body = object_ = 0
    while n > 0:
        n -= 1
        if n == 2:
            if_true += 1
            continue
        if 0 < n + if_true < 4:
            if_false += n
    return test + body + item_ + left_ + middle_, if_true, if_false, while_test, for_test, for_body, object_


@program((3,), (-3,))
def variable_called_object(x):
    object = 1
    if x > 0:
        result = x + object
    else:
        result = -1
    return result


@program((3,), (-3,))
def return_flag_as_argument(x):
    def inner(return_, did_return_=1):
        if return_ > 0:
            return did_return_
        return -return_

    return inner(x)


@program((3,), (-3,))
def builtin_under_another_name(x):
    if x > 0:
        return len_([x, x])
    return len_([])


@program((4,), (0,))
def underscore_names(n):
    _ = __ = _x = 0
    for _ in range(n):
        __ += _
        _x = __
    return _, __, _x


@program((3,), (-3,))
def three_level_nonlocal(x):
    a = 1

    def middle():
        b = 2

        def inner():
            nonlocal a, b
            if x > 0:
                a += x
            else:
                b += 1
            return a * b

        first = inner()
        return first + b

    got = middle()
    return got, a


@program((3,), (-3,))
def same_name_in_two_scopes(x):
    y = 1

    def f():
        y = 10
        if x > 0:
            y += 1
        return y

    if x > 0:
        y += f()
    return y


@program((3,), (0,))
def non_ascii_names(n):
    größe = 0
    for ü in range(n):
        größe += ü
    return größe


@program((4,), (0,))
def comprehension_variable_is_its_own(n):
    i = 100
    squares = [i * i for i in (1, 2, 3)]
    for k in range(n):
        i += k
    return i, squares


@program((3,), (-3,))
def walrus_in_and(x):
    if x > 0 and (y := x * 2) > 4:
        return y
    return -1


@program((2,), (5,))
def walrus_in_comprehension(x):
    values = [last := k * x for k in (1, 2, 3)]
    return values, last


@program((fixed(5),), (fixed(0),))
def qualified_names_in_branches_and_loops(n):
    found = []
    for i in range(n):
        if i == 1:
            class Point:
                def scale(self):
                    return lambda: [q for q in "a"]

            def make(a):
                if a:
                    class Inner:
                        pass

                    return Inner

            found += [Point, Point.scale, Point().scale(), make, make(1), lambda: 1, n and (lambda: 2)]
    return [f.__qualname__.replace(f"{qualified_names_in_branches_and_loops.__qualname__}.", "") for f in found]
