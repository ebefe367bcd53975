"""Text from trees: exact layout, comments, literals, the line map."""
from __future__ import annotations

import ast
import io
import sys
import textwrap

import gast
import pytest

from autograph.printing.expressions import Precedence
from autograph.printing.unparse import Unparser, unparse, unparse_with_lines


def same(text: str, *, source: bool = False) -> None:
    """The text is already as it is printed."""
    text = textwrap.dedent(text).lstrip("\n")
    assert unparse(ast.parse(text), source=text if source else None) == text
    assert unparse(gast.parse(text), source=text if source else None) == text


# ---- layout ----


def test_generated_code_is_laid_out_as_in_the_design() -> None:
    text = textwrap.dedent("""\
        def collatz(n):
            steps = 0

            def while_test():
                return n != 1

            def while_body():
                nonlocal n, steps

                def if_true():
                    nonlocal n
                    n = n // 2

                def if_false():
                    nonlocal n
                    n = 3 * n + 1
                ag__.cond(n % 2 == 0, if_true, if_false, 'n')
                steps += 1
            ag__.while_loop(while_test, while_body, 'n', 'steps')
            return steps
        """)
    assert unparse(ast.parse(text).body[0]) == text
    assert unparse(gast.parse(text).body) == text


def test_a_bare_declaration_and_a_branch() -> None:
    text = textwrap.dedent("""\
        def sign(x):
            return_: object

            def if_true():
                nonlocal return_
                return_ = 1
            ag__.cond(x > 0, if_true, None, 'return_')
            return return_
        """)
    assert unparse(ast.parse(text).body[0]) == text


def test_a_definition_that_opens_its_block_has_no_blank_line_above() -> None:
    text = "def f():\n\n\n    def g():\n        pass\n\n\n    return g\n"
    assert unparse(ast.parse(text).body[0]) == "def f():\n    def g():\n        pass\n    return g\n"


def test_the_user_s_blank_lines_stay_in_modules_only() -> None:
    text = "import a\n\n\n\n\nx = 1\ny = 2\n\nz = 3\ndef f():\n    a\n\n\n\n    b\nw = 4\n"
    tree = ast.parse(text)
    assert unparse(tree, source=text) == (
        "import a\n\n\nx = 1\ny = 2\n\nz = 3\n\n\ndef f():\n    a\n\n    b\n\n\nw = 4\n"
    )
    assert unparse(tree.body[4], source=text) == "def f():\n    a\n    b\n"


def test_an_expression_has_no_line_end() -> None:
    assert unparse(ast.parse("a.b[c]", mode="eval").body) == "a.b[c]"
    assert unparse(gast.parse("lambda: 0").body[0].value) == "lambda: 0"


def test_statements() -> None:
    same("""
        import a.b as c, d
        from . import e
        from ..f import g as h
        (x): int
        x: int = 1, 2
        self.x: int = yield_
        a, b = c = d, *e
        x += 1, 2
        del a, (b, c), d[0]
        assert x, 'no'
        raise E from None
        for i, j in x, y:
            break
        else:
            continue
        while yield_ and x:
            pass
        else:
            pass
        with a as (b, c), d:
            pass
        with ((a, b)):
            pass
        try:
            pass
        except (A, B) as e:
            raise
        except:
            pass
        else:
            pass
        finally:
            pass
        if a:
            pass
        elif b:
            pass
        else:
            if c:
                pass
            d
    """)


def test_definitions() -> None:
    same("""
        @a.b(1)
        @c
        async def f(a, /, b: int = 1, *c, d=2, e, **f) -> int:
            global g
            async with a:
                async for x in y:
                    await z
            return [x async for x in y if x]


        class A(B, metaclass=C, **k):
            x = 1

            def f(self, *, a):
                return (yield)


        class D:
            pass
    """)


def test_match() -> None:
    same("""
        match x, y:
            case 1 | -2 | 1 + 2j | 'a' | None:
                pass
            case [a, *_] | (b as a):
                pass
            case {'k': [v], **rest} if n := v:
                pass
            case A(1, b=C.d) as e:
                pass
            case p, q:
                pass
            case [r]:
                pass
            case _:
                pass
    """)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="except* is new in 3.11")
def test_exception_groups_and_starred_subscripts() -> None:
    same("""
        try:
            pass
        except* A as e:
            pass
        x[*a]
        x[*a, b]
    """)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are new in 3.12")
def test_type_parameters() -> None:
    same("""
        type X[T: int, *Ts, **P] = list[T]


        def f[T](x: T) -> T:
            return x


        class A[T](B):
            pass
    """)


@pytest.mark.parametrize("text", [
    "a + b * c", "(a + b) * c", "a - (b - c)", "a - b - c", "-a ** b", "(-a) ** b", "a ** -b", "a ** b ** c",
    "(a ** b) ** c", "not a == b", "(not a) == b", "not (a and b)", "a or b and c", "(a or b) and c", "a < b <= c",
    "(a < b) < c", "a if b else c if d else e", "(a if b else c) if d else e", "lambda x, *, y=1: x + y",
    "(lambda: 0)()", "f(x for x in y)", "f((x for x in y), 1)", "f(a, *b, c=d, **e)", "f(x := 1)", "[(x := 1), 2]",
    "[x for x, y in z if a if b]", "{k: v for k, v in d}", "{**a, 'b': c}", "{1, *a}", "a[b, c]", "a[1:2, ::3]",
    "a[()]", "a[:, None, ...]", "a[b,]", "(3).real", "3.5.real", "(await a) ** b", "await a.b", "-1 .real",
    "a @ b | c & d ^ e << 1", "~a", "+-a", "()", "(a,)", "[*a, *b]", "x is not y", "x not in y", "u'a'", "b'a\\x00'",
    "1e309", "1j", "'\\'\"'", "(yield)", "a and (yield)", "lambda: (yield)", "(a, b) + c", "*a, b",
    "1 if (x, y) else z",
])
def test_expressions_have_only_the_parentheses_they_need(text: str) -> None:
    start = "async def f():\n    pass\n    "
    tree = ast.parse(start + text)
    printed = unparse(tree).removeprefix(start).removesuffix("\n")
    assert ast.dump(ast.parse(start + printed)) == ast.dump(tree)
    changed = {"-1 .real": "-(1).real", "(yield)": "yield", "(await a) ** b": "await a ** b", "(a,)": "a,"}
    expected = changed.get(text, text)
    assert printed == expected


def test_negative_and_odd_constants_of_generated_trees() -> None:
    power = ast.BinOp(ast.Constant(-1), ast.Pow(), ast.Constant(2))
    assert unparse(power) == "(-1) ** 2"
    assert unparse(ast.Attribute(ast.Constant(-1), "real", ast.Load())) == "(-1).real"
    assert unparse(ast.Constant((1, "a"))) == "(1, 'a')"
    assert unparse(ast.Constant(10 ** 5000)).startswith("0x")


def test_an_unknown_node_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot print a Load node"):
        unparse(ast.Load())


# ---- literals ----


def test_literals_keep_their_spelling() -> None:
    same("""
        x = 0xFF + 1_000 + 1e-3 + 0b11
        y = "double" + 'single' + r"\\d" + \"\"\"three
           lines\"\"\" + b"bytes"
        z = f"{x}" + f'{y!r:>{z}}' + f\"\"\"a
        {b}\"\"\"
    """, source=True)


def test_a_literal_that_moved_is_printed_by_its_value() -> None:
    text = "x = 0xFF\n"
    tree = ast.parse(text)
    assign = tree.body[0]
    assert isinstance(assign, ast.Assign) and isinstance(assign.value, ast.Constant)
    assign.value.value = 7
    assert unparse(tree, source=text) == "x = 7\n"


def test_docstrings_stand_in_triple_quotes() -> None:
    text = 'def f():\n    "one"\n'
    assert unparse(ast.parse(text)) == 'def f():\n    """one"""\n'
    assert unparse(ast.parse(text), source=text) == text
    values = ["", 'a "b"', "back\\slash", 'three """ quotes', 'at the end """', "'\"'\"", "tab\tnul\0", "a\r\n b\n"]
    for value in values:
        tree = ast.Module([ast.Expr(ast.Constant(value))], [])
        assert ast.literal_eval(unparse(tree).strip("\n")) == value


@pytest.mark.parametrize("text", [
    "f'{a}'", "f'{a!r:>{b}}'", "f'{{{a}}}'", "f\"{a['k']}\"", "f'{ {1: 2}[1] }'", "f'{(lambda: 1)()}'",
    "f'{(lambda x: x)}'", "f'{x:%Y-%m}'", "f'{a=}'", "f'''{a[\"b\"]} {c['d']}'''", "f'a\\n{b}\\\\'", "f'\\'\"{a}'",
    "f'{a:{b}{c}}'", "f'{(x := 1)}'", "f'{a if b else c}'", "f'{a}' 'b' f'{c}'", "f'{x:}'", "f'{a!s}\\N{BULLET}'",
    "f'{f\"{x}\"}'", "f'{yield_, 1}'", "f''", "f'''{\n a\n}'''", "rf'\\d{a}'", "f'{b\"x\"}'",
])
def test_f_strings(text: str) -> None:
    tree = ast.parse(text, mode="eval")
    for source in (None, text):
        printed = unparse(tree.body, source=source)
        assert ast.dump(ast.parse(printed, mode="eval")) == ast.dump(tree), printed


def test_an_f_string_beyond_older_pythons() -> None:
    newline = ast.Call(ast.Attribute(ast.Constant("\n"), "join", ast.Load()), [ast.Name("a", ast.Load())], [])
    tree = ast.JoinedStr([ast.Constant("{'\""), ast.FormattedValue(newline, -1), ast.Constant("'''\"\"\"")])
    printed = unparse(tree)
    assert eval(printed, {"a": ["1", "2"]}) == "{'\"1\n2'''\"\"\""
    spec = ast.JoinedStr([ast.FormattedValue(ast.Constant(8), -1)])
    wide = ast.JoinedStr([ast.FormattedValue(ast.Constant("\\\t'\""), ord("r"), spec)])
    assert eval(unparse(wide)) == repr("\\\t'\"").ljust(8)


# ---- comments ----

COMMENTED = '''\
#!/usr/bin/env python
# licence

# about os
import os  # os it is


# the function
@decorate  # with this
def f(a, b):  # two
    """Doc.

      kept
    """  # after doc
    # start
    x = 0x1F  # hex

    # why loop
    while x:  # loop
        x -= 1
        # end of while
    else:  # in else
        x = 2
        # tail of else
    # after loop
    try:  # t
        pass
    # before except
    except ValueError:  # noqa
        pass
    finally:  # fin
        y = 1
    if x:  # if
        pass
    # elif note
    elif y:  # elif
        q = 3
    match x:  # m
        # first case
        case 1:  # one
            pass
            # tail of one
        # second case
        case _:
            pass
        # last in match
    # end of f


class A:
    # first in class
    a: int  # type: int

    def m(self):
        pass

    # tail of A
# the end
'''


def test_comments_stay_where_they_are() -> None:
    assert unparse(ast.parse(COMMENTED), source=COMMENTED) == COMMENTED


def test_a_function_takes_the_comments_inside_it() -> None:
    tree = ast.parse(COMMENTED)
    printed = unparse(tree.body[1], source=COMMENTED)
    lines = COMMENTED.splitlines()
    inside = lines[lines.index("@decorate  # with this") : lines.index("    # end of f") + 1]
    blank = [i for i, line in enumerate(inside) if not line and inside[i + 1].strip() != "kept"]
    expected = [line for i, line in enumerate(inside) if i not in blank]
    assert printed == "\n".join(expected).replace("Doc.\n      kept", "Doc.\n\n      kept") + "\n"


def test_comments_inside_an_expression_go_above_it() -> None:
    text = "x = [\n    # why\n    1,  # one\n    2,  # two\n]\n"
    assert unparse(ast.parse(text), source=text) == "# why\n# one\n# two\nx = [1, 2]\n"
    text = "f(a,  # why\n  b)\n"
    assert unparse(ast.parse(text), source=text) == "f(a, b)  # why\n"


def test_statements_on_one_line() -> None:
    text = "a = 1; b = 2  # of b\nif a: c  # of if\nelse: d  # of d\n"
    assert unparse(ast.parse(text), source=text) == (
        "a = 1\nb = 2  # of b\nif a:  # of if\n    c\nelse:\n    d  # of d\n"
    )


def test_comments_that_need_an_else() -> None:
    for comment in ("else:  # why\n    if b:\n        c\n", "else:\n    if b:\n        c\n    # tail\n"):
        text = f"if a:\n    pass\n{comment}"
        assert unparse(ast.parse(text), source=text) == text
    text = "if a:\n    pass\nelse:\n    if b:\n        c\n"
    assert unparse(ast.parse(text), source=text) == "if a:\n    pass\nelif b:\n    c\n"


def test_comments_of_a_converted_tree() -> None:
    source = textwrap.dedent("""\
        def f(items):
            s = 0
            # all of them
            for c in items:  # each
                if c > 9:  # big
                    # leave out
                    continue  # next
                # add
                s += c  # sum
                # end of body
            return s
        """)
    converted = textwrap.dedent("""\
        def f(items):
            s = 0

            def for_body(c):
                nonlocal s

                def if_false():
                    nonlocal s
                    s += c
                ag__.cond(c > 9, None, if_false, 's')
            ag__.reduce(items, for_body, 's')
            return s
        """)
    tree = ast.parse(converted).body[0]
    origin = {4: 4, 5: 4, 7: 5, 8: 5, 9: 9, 10: 5, 11: 4, 12: 11}
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = origin.get(node.lineno, node.lineno)
    tree.end_lineno = 11
    printed, lines = unparse_with_lines(tree, source=source)
    assert printed == textwrap.dedent("""\
        def f(items):
            s = 0

            # all of them
            def for_body(c):
                nonlocal s

                def if_false():
                    nonlocal s
                    # add
                    s += c  # sum
                    # end of body
                # leave out
                # next
                ag__.cond(c > 9, None, if_false, 's')  # big
            ag__.reduce(items, for_body, 's')  # each
            return s
        """)
    assert lines == {1: 1, 2: 2, 4: 3, 5: 4, 6: 4, 8: 5, 9: 5, 10: 8, 11: 9, 12: 10, 13: 6, 14: 7, 15: 5, 16: 4, 17: 11}


def test_what_is_inserted_at_the_top_goes_below_the_first_comments() -> None:
    text = "#!/bin/sh\n# licence\n\n# about x\nx = 1\n"
    tree = ast.parse(text)
    tree.body.insert(0, ast.parse("from autograph import operators as ag__").body[0])
    assert unparse(tree, source=text) == (
        "#!/bin/sh\n# licence\n\nfrom autograph import operators as ag__\n\n# about x\nx = 1\n"
    )


def test_comments_alone() -> None:
    assert unparse(ast.parse("# only\n"), source="# only\n") == "# only\n"
    assert unparse(ast.parse(""), source="") == ""
    assert unparse(ast.Module([], [])) == ""


def test_a_method_keeps_comments_without_the_class_s_indentation() -> None:
    body = "# above\ndef f(self):\n    # in f\n    return 1\n    # tail\n\n# below\nx = 1\n"
    text = "class A:\n" + textwrap.indent(body, "    ")
    method = ast.parse(text).body[0].body[0]  # type: ignore[attr-defined]
    assert unparse(method, source=text) == "def f(self):\n    # in f\n    return 1\n    # tail\n"


# ---- the map, and the class itself ----


def test_the_line_map_covers_every_line_with_code() -> None:
    text = COMMENTED
    printed, lines = unparse_with_lines(ast.parse(text), source=text)
    clauses = ("else:", "finally:")
    for row, line in enumerate(printed.splitlines(), 1):
        if line.strip() and not line.strip().startswith(clauses):
            assert lines[row] == row


def test_the_class_prints_to_a_file_like_astunparse() -> None:
    file = io.StringIO()
    Unparser(ast.parse("x=1"), file)
    assert file.getvalue() == "x = 1\n"
    assert Precedence.TUPLE < Precedence.TEST


def test_the_text_is_that_of_the_other_interpreters() -> None:
    """Golden files hold on every version: nothing here depends on `ast.unparse`."""
    text = "x = lambda: 1\na, b = (1, 2)\nfor a, b in c: pass\nx[(1, 2)]\n(y := f'{x[\"a\"]}')\n"
    assert unparse(ast.parse(text)) == (
        "x = lambda: 1\na, b = 1, 2\nfor a, b in c:\n    pass\nx[1, 2]\n(y := f'{x[\"a\"]}')\n"
    )
