"""What is printed, and in which order."""
from __future__ import annotations

from typing import NamedTuple

from programs import fixed, program


@program((3,), (-3,))
def print_in_branch(x):
    print("start")
    if x > 0:
        print("positive")
    else:
        print("not positive")
    print("end")
    return x


@program((3,), (0,))
def print_in_loop(n):
    for i in range(n):
        print("i =", i)
    print("n =", n)
    return n


@program((3,),)
def print_options(n):
    print(n, n + 1, sep=", ", end=";\n")
    print("a", "b", sep="")
    print()
    return n


@program((3,), (-1,))
def print_fstring(x):
    if x > 0:
        print(f"x is {x}")
    else:
        print(f"{x} is not positive: {x + 1}")
    return x


@program((2,), (0,))
def print_from_nested_calls(n):
    def say(label, v):
        print(label, v)
        return v

    total = 0
    for i in range(n):
        total += say("in", i)
    say("out", total)
    return total


@program((2.5,), (-1.5,))
def print_floats(x):
    print(x)
    y = x
    while y < 10:
        y = y * 2 + 4
        print("y:", y)
    return y


@program((True,), (False,))
def print_booleans(b):
    print(b, not b)
    if b:
        print("yes")
    return b


@program((3, fixed("mid")), (1, fixed("mid")))
def print_order_with_python_values(n, word):
    print("first")
    for i in range(n):
        if i == 1:
            print(word, i)
            continue
        print(i, word)
    print("last")
    return 0


@program((5,), (2,))
def print_before_break(n):
    for i in range(n):
        print("try", i)
        if i == 3:
            print("stop")
            break
        print("go")
    else:
        print("all")
    return 0


@program((2,), (-2,))
def print_in_short_circuit(x):
    def check(name, value):
        print("check", name)
        return value

    if check("a", x > 0) and check("b", x > 1):
        print("both")
    if check("c", x > 5) or check("d", x < 0):
        print("either")
    return 0


@program((3,), (-3,))
def print_then_raise(x):
    print("before")
    if x < 0:
        print("bad")
        raise ValueError("negative")
    print("after")
    return x


@program((3,), (-3,))
def print_in_finally(x):
    try:
        print("try")
        if x > 0:
            print("return")
            return 1
        print("no return")
    finally:
        print("finally")
    return 2


@program((2.0,), (-1.5,))
def print_format_specs(x):
    print(f"{x:.2f}|{x:>8.3f}|{x + 1:e}")
    if x > 0:
        print(f"[{x:6.1f}]")
    return x


@program((7,), (-7,))
def print_int_formats(n):
    print(f"{n:5d}|{n:<4}|{n:+d}")
    print("%d and %s" % (1, "two"), "{}".format("three"))  # noqa: UP031
    return n


@program(([1, 2, 3],),)
def print_elements(xs):
    for i, x in enumerate(xs):
        print(i, x, end=" ")
    print()
    return len(xs)


@program((3,), (0,))
def print_while_test(n):
    def more(k):
        print("more?", k)
        return k > 0

    while more(n):
        n -= 1
    return n


@program((3,), (-3,))
def print_conditional_text(x):
    print("yes" if x is not None else "no", x)
    label = "big"
    if x > 0:
        print(label, "x", x)
    return x


@program((3,), (1,))
def print_nested_loops(n):
    for i in range(n):
        for j in range(i):
            if j == i - 1:
                print(i, j, "last")
            else:
                print(i, j)
        print("row", i)
    return n


@program((2,), (-2,))
def print_none_and_tuple(x):
    print(None, (1, "a"), [1, 2], {"k": 1})
    if x > 0:
        print(True, None)
    return x


@program((3,), (-2,))
def text_that_looks_like_a_tensor(x):
    first = 'Tensor("x", shape=(), dtype=float32, id=3)'
    texts = [first, 'Tensor("x", shape=(), dtype=int32, id=1)', 'Text("text", shape=(None,), dtype=uint8, id=2)',
             '{List("list", id=1):!r}', "<rt.Tensor 'x' shape=() dtype=int32>", "{x}", "%s", "{}"]
    print('Tensor("x", shape=(), dtype=float32, id=3)', first)
    for text in texts:
        print(text, f"{text} {x}", f"{x:>4}{text!r}", sep=";")
    name = texts[0] if x > 0 else texts[1]
    print(name, name + f"{x}", [first, x])
    return len(first), f"{first}|{x}", "%s %s" % (first, f"{x}"), "{} {}".format(first, f"{x}"), name  # noqa: UP031


class Shown:
    def __init__(self, value):
        self.value = value

    def __str__(self):
        return f"<{self.value}>" if self.value > 0 else "nothing"

    def __format__(self, spec):
        return f"{self.value:{spec}}" + "!"


@program((3,), (-2,))
def text_of_an_object(x):
    shown = Shown(x)
    template = "%s and %s" if x is not None else "none"
    template %= shown, f"{x}"
    print(shown, f"{shown:>5}", f"{shown!s}", template, f"{shown:>4} {[x][0]} {shown.value}")
    return str(shown), format(shown, "4"), template, "-".join([str(shown), "b"]), "a_b".replace("_", f"{x}", 1)


class Pair(NamedTuple):
    x: int
    y: float


@program((3,), (0,))
def records_are_printed(n):
    out = []
    pairs = [Pair(1, 2.0)]
    for i in range(n):
        out.append({"z": i, "a": (i * 0.5, [i, True])})
        pairs.append(Pair(i, -i * 0.5))
        print(i, pairs)
    text = "<" + str(out) + ">"
    print(text, [out], f"{out!r} {pairs}", f"{out} and {pairs!r}", sep="|")
    if n > 2:
        pairs.pop()
    print(out, pairs, {"k": pairs})
    return len(text), len(out)
