"""`break` and `continue`."""
from __future__ import annotations

import itertools

from programs import dataset, fixed, program


@program(([1, 2, 3, 4, 5],), ([2, 4],), ([1],))
def sum_even(items):
    s = 0
    for c in items:
        if c % 2 > 0:
            continue
        s += c
    return s


@program(([3, 5, -1, 7],), ([3, 5],), ([-1],))
def sum_until_negative(xs):
    s = 0
    for x in xs:
        if x < 0:
            break
        s += x
    return s


@program((10,), (0,), (3,))
def while_true_break(n):
    i = 0
    while True:
        if i >= n:
            break
        i += 1
    return i


@program((20,), (0,), (2,))
def break_and_continue(n):
    s = 0
    for i in range(n):
        if i % 3 == 0:
            continue
        if i > 10:
            break
        s += i
    return s


@program((20,), (5,))
def code_after_break_test(n):
    s = 0
    i = 0
    while i < n:
        i += 1
        if i == 7:
            s += 1000
            break
        s += i
        s *= 2
        if s > 500:
            s -= 500
    return s, i


@program((8,), (0,))
def inner_break(n):
    s = 0
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            s += j
        s += 1
    return s


@program((8,), (3,))
def inner_continue(n):
    s = 0
    for i in range(n):
        for j in range(i):
            if (i + j) % 2:
                continue
            s += j
    return s


@program((6,), (2,))
def break_both_loops(n):
    found = -1
    for i in range(n):
        for j in range(n):
            if i * j == 6:
                found = i * 10 + j
                break
        if found >= 0:
            break
    return found


@program((7,), (8,), (2,))
def prime_by_for_else(n):
    for d in range(2, n):
        if n % d == 0:
            prime = 0
            break
    else:
        prime = 1
    return prime


@program((5, 3), (5, 9))
def while_else_break(n, k):
    i = 0
    while i < n:
        if i == k:
            break
        i += 1
    else:
        i = -i
    return i


@program((4,), (7,))
def for_else_in_loop(n):
    primes = 0
    for k in range(2, n):
        for d in range(2, k):
            if k % d == 0:
                break
        else:
            primes += k
    return primes


@program((9,), (3,))
def else_breaks_outer(n):
    i = 0
    while i < n:
        i += 1
        for j in range(i):
            if j == 4:
                break
        else:
            continue
        break
    return i


@program((10,), (4,))
def continue_in_while(n):
    s = 0
    while n > 0:
        n -= 1
        if n % 2:
            continue
        s += n
    return s


@program((10,), (0,))
def continue_deep_in_branches(n):
    s = 0
    for i in range(n):
        if i > 2:
            if i % 2:
                if i == 5:
                    s += 100
                    continue
                s += 1
            else:
                continue
        s += i
    return s


@program((10,), (3,))
def break_in_else(n):
    s = 0
    for i in range(n):
        if i < 5:
            s += i
        else:
            break
    return s


@program((10,), (3,))
def both_branches_jump(n):
    s = 0
    for i in range(n):
        s += 1
        if i > 5:
            break
        else:
            continue
        s += 1000
    return s


@program((10,), (2,))
def break_after_inner_loop(n):
    s = 0
    i = 0
    while True:
        for j in range(i):
            s += j
        i += 1
        if s > n:
            break
    return s, i


@program(([5, 3, 8, 1], 8), ([5, 3, 8, 1], 7))
def index_of(xs, wanted):
    where = -1
    for i, x in enumerate(xs):
        if x == wanted:
            where = i
            break
    return where


@program((3, fixed([1, 2, 3, 4])), (100, fixed([1, 2, 3])), (0, fixed([1, 2])))
def break_by_tensor_in_python_loop(limit, ks):
    s = 0
    for k in ks:
        s += k
        if s > limit:
            break
    return s


@program((2, fixed([1, 2, 3, 4])),)
def continue_by_tensor_in_python_loop(n, ks):
    s = 0
    for k in ks:
        if k == n:
            continue
        s += k
    return s


@program((2, fixed([1, 2, 3, 4])), (9, fixed([1, 2])))
def else_of_python_loop(n, ks):
    s = 0
    for k in ks:
        if k == n:
            break
        s += k
    else:
        s += 100
    return s


@program((9.0, 0.001), (2.0, 0.0), (2.0, 0.5))
def endless_python_loop_that_python_leaves(x, tolerance):
    guess = x
    for step in itertools.count():
        if step >= 6:
            break
        guess = 0.5 * (guess + x / guess)
        if abs(guess * guess - x) < tolerance:
            break
    else:
        guess = -1.0
    return guess, step


@program((9.0, 0.001), (2.0, 0.0), (2.0, 0.5))
def endless_python_loop_that_raises_at_last(x, tolerance):
    def guesses():
        step = 0
        while True:
            yield step
            step += 1

    guess = x
    for step in guesses():
        if step >= 6:
            raise ArithmeticError(f"no root of {x} after {step} steps")
        guess = 0.5 * (guess + x / guess)
        if abs(guess * guess - x) < tolerance:
            return guess


@program((2,), (3,), (9,))
def break_in_loop_over_literal(n):
    for k in (1, 2, 3):
        if k == n:
            break
    return k


@program((dataset([1, 2, 3, 4, 5]), 6), (dataset([1, 2]), 6))
def break_over_dataset(ds, limit):
    s = 0
    for x in ds:
        if s + x > limit:
            break
        s += x
    return s


@program((5,), (0,))
def break_at_once(n):
    i = 0
    while i < n:
        break
    for i in range(n):
        break
    return i


@program((5,), (0,))
def continue_always(n):
    s = 0
    for i in range(n):
        s += i
        continue
    return s


@program((12,), (5,))
def jumps_from_try(n):
    s = 0
    for i in range(n):
        try:
            if i == 3:
                continue
            if i == 7:
                break
            s += i
        finally:
            s += 100
    return s


@program((12,), (5,))
def break_keeps_variable(n):
    for i in range(n):
        last = i * i
        if last > 20:
            break
    return last


@program((5,), (2,))
def flag_names_of_the_user(n):
    break_, continue_, did_return_, return_ = 1, 2, 3, 4
    for i in range(n):
        if i == 3:
            break
        if i == 1:
            continue
        break_ += i
    return break_ + continue_ + did_return_ + return_


@program((5,), (2,))
def body_names_of_the_user(if_true):
    while_body = for_body = while_test = 1
    item_ = ag = 2
    if if_true > 3:
        while_body += 1
    for if_false in range(if_true):
        for_body += if_false
        if for_body > 3:
            break
    return if_true, while_body, for_body, while_test, item_, ag


@program((6,),)
def break_four_deep(n):
    s = 0
    for a in range(n):
        for b in range(n):
            for c in range(n):
                for d in range(n):
                    if d > c:
                        break
                    s += 1
                if c > b:
                    break
            if b > a:
                break
        if a > 3:
            break
    return s
