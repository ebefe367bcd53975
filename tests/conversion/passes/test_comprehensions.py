"""What comprehensions, generator expressions and `in` over tensors become, and what they cannot be."""
from __future__ import annotations

import textwrap

import pytest

import autograph as ag
import runtime as rt

XS = rt.constant([3, -1, 4])
UNKNOWN = rt.TensorSpec([None], rt.int32)


def message(fn, *arguments, error=rt.errors.StagingError, **options):
    """The text of the error, without its file, line and excerpt."""
    with pytest.raises(error) as caught:
        rt.function(fn, **options)(*arguments)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"{__file__}:"), lines[0]
    assert len(lines) == 4, "a place, an excerpt, a caret and a remedy"
    return lines[0].split(": ", 1)[1], lines[3]


def test_the_text_of_comprehensions():
    source = textwrap.dedent("""\
        def f(xs, ys):
            a = sum(x * x for x in xs if x > 0 if x < 9)
            b = {k: v for k, v in xs}
            c = {x % 3 for x in xs}
            d = [x * y for x in xs for y in ys if y > x]
            e = [i for i, (x, y) in xs]
            g = [y for x in xs if (y := x + 1) > 2]
            return a, b, c, d, e, g
        """)
    text = ag.convert_source(source, "f.py")
    assert text.splitlines()[3:] == [
        "def f(xs, ys):",
        "    y: object",
        "    a = ag__.call(sum)(ag__.gen_exp(xs, lambda x: x * x, lambda x: ag__.and_(x > 0, lambda: x < 9)))",
        "    b = ag__.dict_comp(xs, lambda k, v: (k, v))",
        "    c = ag__.set_comp(xs, lambda x: x % 3)",
        "    d = ag__.list_comp(xs, lambda x: ag__.nested(ys, lambda y: x * y, lambda y: y > x))",
        "    e = ag__.list_comp(xs, lambda i, item_: (lambda x, y: i)(*ag__.unpack(item_, 2)))",
        "    g = ag__.list_comp(xs, lambda x: y, lambda x: ag__.bind(lambda: y, x + 1) > 2)",
        "    return a, b, c, d, e, g",
    ]


@pytest.mark.parametrize("text", [
    "[lambda: x for x in xs]",
    "[(y + x for y in xs) for x in xs]",
    "[x for x in (1, 2, 3)]",
    "{x: 1 for x in [1, 2]}",
    "[x for x in xs for x.y in xs]",
    "(lambda: [y := x for x in xs])",
])
def test_what_stays_a_comprehension(text):
    assert "_comp(" not in ag.convert_source(f"def f(xs):\n    return {text}\n", "f.py")


def test_what_a_later_loop_runs_over():
    def f(parts):
        a = [x for part in parts for x in (max(y for y in part), sum(y for y in list(part)))]
        b = {x for part in parts for x in ([len(part)] if any(y > 2 for y in reversed(part)) else [0])}
        c = [x for x in parts for y in [sum([z for z in list(x)])] if y > min(z for z in tuple(x))]
        return a, b, c

    parts = [[1, 2], [3]]
    assert ag.convert(f)(parts) == f(parts) == ([2, 3, 3, 3], {0, 1}, [[1, 2]])


def test_a_staged_comprehension_is_one_loop():
    f = rt.function(lambda xs: sum(x * x for x in xs if x > 0), input_signature=[UNKNOWN])
    graph = str(f.get_concrete_function().graph)
    assert graph.count("reduce(") == 1 and graph.count("cond(") == 1 and "list" not in graph


def test_any_stops_at_the_first_item():
    f = rt.function(lambda xs: any(10 // x > 0 for x in xs), input_signature=[UNKNOWN])
    assert f(rt.constant([-1, 5, 0])), "Python, too, would not have come to the division by zero"
    with pytest.raises(ZeroDivisionError):
        f(rt.constant([-1, -5, 0]))


def test_sets_and_dicts_of_tensors():
    assert rt.function(lambda xs: {x for x in xs})(XS) == {3, -1, 4}
    assert rt.function(lambda xs: {1 for x in xs}, input_signature=[UNKNOWN])(XS) == {1}
    assert rt.function(lambda x: {k for k in range(3) if x > k})(rt.constant(1)) == {0}
    assert rt.function(lambda xs: {x: 1 for x in xs})(XS).keys() == {3, -1, 4}
    numbered = rt.function(lambda xs: {i: x for i, x in enumerate(xs)}, input_signature=[UNKNOWN])(XS)
    assert {key: int(value) for key, value in numbered.items()} == {0: 3, 1: -1, 2: 4}


def test_generators_that_python_runs_over():
    for signature in None, [UNKNOWN]:
        f = rt.function(lambda xs: dict((i, x) for i, x in enumerate(xs)), input_signature=signature)
        assert {key: int(value) for key, value in f(XS).items()} == {0: 3, 1: -1, 2: 4}
    last = rt.function(lambda xs: dict((1, x) for x in xs if x > 0))
    assert {key: int(value) for key, value in last(XS).items()} == {1: 4}


def test_tuples_of_generators():
    for fn in (lambda xs: tuple(x for x in xs), lambda xs: tuple(x for x in xs if x > 0)):
        found = rt.function(fn, input_signature=[UNKNOWN])(XS)
        assert type(found) is tuple and [int(x) for x in found] == [*fn(XS.numpy())]


def left_and_again(xs):
    numbers = (x for x in xs)
    first = next(numbers)
    return first + sum(numbers)


def after_zip(xs):
    numbers = (x for x in xs)
    products = [a * b for a, b in zip([1, 2], numbers)]
    return products, list(numbers)


def after_map(xs):
    numbers = (x for x in xs)
    products = list(map(lambda a, b: a * b, [1, 2], numbers))
    return products, list(numbers)


def outside_of_loop(xs):
    numbers = (x for x in xs)
    s = 0
    for _ in range(len(xs)):
        s += sum(numbers)
    return s


def in_branch(xs):
    numbers = (x for x in xs)
    return sum(numbers) if xs[0] > 0 else 0


def in_branch_and_after(xs):
    numbers = (x for x in xs)
    s = 0
    if xs[0] > 0:
        s = sum(numbers)
    return s + sum(numbers)


def test_a_generator_is_run_over_once():
    remedy = "Make it a list, which can be run over again: [... for ... in ...]."
    unknown = "it is known only when the graph runs how far this generator was run over before"
    again = ("a generator that is made outside of a staged loop or branch has nothing left when it is run over again in"
             " it")
    assert message(left_and_again, XS, input_signature=[UNKNOWN]) == (unknown, remedy)
    assert rt.function(left_and_again)(XS) == 6
    assert message(after_zip, XS) == message(after_map, XS) == (unknown, remedy)
    assert message(in_branch_and_after, XS) == (unknown, remedy)
    assert message(outside_of_loop, XS, input_signature=[UNKNOWN]) == (again, remedy)
    assert rt.function(in_branch)(XS) == 6


def taken_in_branch(xs):
    numbers = (x for x in xs)
    first = next(numbers)
    if first > 0:
        first += next(numbers)
    return first


def test_items_of_a_generator_that_began_are_not_taken_in_a_branch():
    text, remedy = message(taken_in_branch, XS)
    assert text == (
        "staged code takes items of 'numbers' (StagedGenerator), an iterator from outside of it: that would happen"
        " once, while the code is traced, and not each time it runs")
    assert remedy.startswith("Make the iterator in the code that uses it")


def next_of_python(x):
    numbers = (k for k in (1, 2, 3, 4) if k != 2)
    first = next(numbers)
    return first * 100 + next(numbers) * 10 + sum(numbers) + x


def next_by_tensor(x):
    numbers = (k for k in (1, 2, 3, 4) if k > x)
    return next(numbers)


def next_by_tensor_twice(x):
    numbers = (k for k in (1, 2, 3, 4) if k > x)
    return next(numbers) + next(numbers)


def test_next_over_python():
    assert rt.function(next_of_python)(rt.constant(0)) == 134
    assert rt.function(next_by_tensor)(rt.constant(2)) == 3
    assert message(next_by_tensor_twice, rt.constant(2))[0] == (
        "it is known only when the graph runs how far this generator was run over before")


def test_membership_takes_scalars():
    rows = rt.constant([[1, 2], [3, 4]])
    assert message(lambda rows, x: x in rows, rows, rt.constant(1), error=rt.errors.ShapeError) == (
        "`in` compares items, and the truth of their comparison is ambiguous: the tensor is int32[2,2]",
        "Say which axis is to be equal: rt.reduce_any(rt.reduce_all(xs == x, axis=1)).")
    with pytest.raises(TypeError, match=r"^a scalar tensor has no items to look among$"):
        rt.function(lambda x, y: x in y)(rt.constant(1), rt.constant(2))
    with pytest.raises(TypeError, match="string"):
        rt.function(lambda x: x in "abc" + "d")(rt.constant(1))


def test_membership_of_what_is_staged():
    n = rt.constant(4)
    assert bool(rt.function(lambda n: 9 in map(lambda i: i * i, range(n)))(n))
    assert not bool(rt.function(lambda n: 10 in (i * i for i in range(n)))(n))
    assert bool(rt.function(lambda n: n in rt.data.Dataset.range(9, output_type=rt.int32))(n))


def effects_in_a_list(xs):
    out = []
    ys = [out.append(x) for x in xs if x > 0]
    return out, ys


def test_a_list_of_none():
    for xs in (XS, rt.constant([-1, 2])):
        assert rt.function(effects_in_a_list)(xs) == effects_in_a_list([*map(int, xs)])
    assert rt.function(lambda xs: [None for x in xs if x > 0])([*XS]) == [None for x in XS if x > 0]


def test_the_text_of_a_list_that_nobody_takes():
    source = "def f(xs, out):\n    [out.append(x) for x in xs]\n    return 1\n"
    assert ag.convert_source(source, "f.py").splitlines()[4] == "    ag__.each(xs, lambda x: ag__.call(out.append)(x))"


def test_any_and_all_compute_no_item_after_the_one_that_decides(capsys: pytest.CaptureFixture[str]) -> None:
    def above(x, least):
        print(x, end=" ")
        return x > least

    def counted(a, b, c):
        which = 0
        found = any((which := x) > 2 for x in [a, b, c])
        return found, which, all(10 // x > 1 for x in [a, b, c]), any(above(x, 2) for x in (a, b, c))

    def left(xs):
        for is_above in (above(x, 2) for x in xs):
            if is_above:
                break
        return is_above

    values = [1, 7, 0]
    found = [x.numpy().item() for x in rt.function(counted)(*map(rt.constant, values))]
    assert capsys.readouterr().out == "1 7 " and found == [*counted(*values)]
    capsys.readouterr()
    assert bool(rt.function(left)([*map(rt.constant, values)])) and capsys.readouterr().out == "1 7 "
