"""The function whose conversion is measured: 69 lines, nested 6 deep, three `while`, a dozen `if`,
`break` and `continue`."""
from __future__ import annotations


def nested(n, k):
    total = 0
    count = 0
    best = -1
    i = 0
    while i < n:
        i += 1
        if i % 3 == 0:
            total += 1
            continue
        j = 0
        while j < k:
            j += 1
            if j % 2 == 0:
                if i % 2 == 0:
                    total += j
                else:
                    total -= j
            elif j > 5:
                if total > 100:
                    total = total // 2
                    break
                else:
                    total += 3
            else:
                m = j
                while m > 0:
                    m -= 1
                    if m == 2:
                        if i > 10:
                            count += 1
                            continue
                        else:
                            count += 2
                    if m == 7:
                        break
                    total += m
            if total > best:
                best = total
        if best > 1000:
            break
    if count > 10:
        if total > 0:
            result = total + count
        else:
            result = count - total
    else:
        result = best
    x = result
    y = count
    if x < y:
        x, y = y, x
    z = x - y
    a = z * 2
    b = a + 1
    c = b - x
    d = c * c
    e = d % 97
    g = e + i
    h = g - y
    p = h * 3
    q = p + z
    r = q % 1009
    if r > 500:
        r -= 500
    s = r + best
    t = s - count
    u = t + result
    return u
