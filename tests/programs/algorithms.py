"""Whole small algorithms, as users write them."""
from __future__ import annotations

from programs import fixed, program


@program((48, 36), (7, 13), (5, 0))
def gcd(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@program((30,), (3,))
def count_primes(n):
    count = 0
    for k in range(2, n):
        is_prime = True
        d = 2
        while d * d <= k:
            if k % d == 0:
                is_prime = False
                break
            d += 1
        if is_prime:
            count += 1
    return count


@program(([1, 3, 5, 7, 9], 7), ([1, 3, 5, 7, 9], 4), ([1, 3], 9))
def binary_search(xs, wanted):
    low = 0
    high = len(xs) - 1
    while low <= high:
        middle = (low + high) // 2
        if xs[middle] == wanted:
            return middle
        if xs[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return -1


@program(([5, 2, 9, 1],), ([1, 2],))
def insertion_sort(xs):
    for i in range(1, len(xs)):
        key = xs[i]
        j = i - 1
        while j >= 0 and xs[j] > key:
            xs[j + 1] = xs[j]
            j -= 1
        xs[j + 1] = key
    return xs


@program(([1, 2, 3], 2), ([4, 0, 1], 3))
def horner(coefficients, x):
    y = 0
    for c in coefficients:
        y = y * x + c
    return y


@program((2, 10), (3, 0), (5, 3))
def power_by_squaring(base, exponent):
    result = 1
    while exponent > 0:
        if exponent % 2 == 1:
            result *= base
        base *= base
        exponent //= 2
    return result


@program(([-2, 1, -3, 4, -1, 2, 1, -5, 4],), ([-1, -2],))
def largest_subarray(xs):
    best = xs[0]
    current = xs[0]
    for x in xs[1:]:
        current = x if current < 0 else current + x
        if current > best:
            best = current
    return best


@program((1.0, 2.0),)
def bisection(low, high):
    for _ in range(20):
        middle = (low + high) / 2
        if middle * middle - 2 > 0:
            high = middle
        else:
            low = middle
    return low


@program((12321,), (123,), (7,))
def is_palindrome(n):
    reversed_, rest = 0, n
    while rest > 0:
        reversed_ = reversed_ * 10 + rest % 10
        rest //= 10
    return reversed_ == n


@program((0.3, 0.5), (2.0, 2.0), (0.0, 0.0))
def mandelbrot(cr, ci):
    zr, zi = 0.0, 0.0
    for step in range(30):
        if zr * zr + zi * zi > 4:
            return step
        zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
    return 30


@program(([1, 2, 2, 3, 3, 3],), ([7],))
def longest_run(xs):
    best, run, previous = 0, 0, None
    for x in xs:
        if previous is not None and x == previous:
            run += 1
        else:
            run = 1
        previous = x
        if run > best:
            best = run
    return best


@program(([3, 0, 2, 5], fixed({"add": 1, "stop": 5})),)
def small_interpreter(codes, names):
    value, steps = 0, 0
    for code in codes:
        steps += 1
        if code == 0:
            continue
        if code == names["stop"]:
            break
        elif code > 2:
            value += code * names["add"]
        else:
            value *= code
    return value, steps


@program((10, 3), (4, 9))
def game_of_subtraction(stones, take):
    turn = 0
    while True:
        if stones <= 0:
            return turn
        stones -= take if stones > take else 1
        turn = 1 - turn


@program(([1.0, 2.0, 3.0, 4.0], 0.5), ([1.0], 0.1))
def exponential_average(xs, alpha):
    average = None
    for x in xs:
        average = x if average is None else alpha * x + (1 - alpha) * average
    return average


@program((6,), (1,))
def pascal_row(n):
    row = [1]
    for i in range(1, n):
        row.append(row[-1] * (n - i) // i)
    return row


@program((25, 0.001),)
def leibniz_pi(n, tolerance):
    total, sign_, k = 0.0, 1.0, 0
    while k < n:
        term = sign_ / (2 * k + 1)
        if abs(term) < tolerance:
            break
        total += term
        sign_ = -sign_
        k += 1
    return 4 * total


@program(([2, 7, 11, 15], 26), ([1, 2], 10))
def two_sum(xs, target):
    for i in range(len(xs)):
        for j in range(i + 1, len(xs)):
            if xs[i] + xs[j] == target:
                return i, j
    return None


@program(([0, 1, 1, 0, 1],), ([0],))
def parity_machine(bits):
    odd = False
    for b in bits:
        if b == 1:
            odd = not odd
    return 1 if odd else 0
