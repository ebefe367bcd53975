"""Characters and parts of text by values of the graph: natively and by NumPy as in Python."""
from __future__ import annotations

import enum
import re
from collections.abc import Callable
from typing import Any

import pytest
from traced_once import on

import runtime as rt
from runtime.errors import StagingError


class Room(enum.Enum):
    HALL = 0
    CELLAR = 1


S = "héllo wörld 𝄞!"
B = b"hello"
WORDS = ["alpha", "be", "gamma", ""]
LONG = "hello wörld, hello world, hello!" * 8


def plain(x: Any) -> Any:
    return rt.nest.map_structure(lambda leaf: leaf.numpy() if isinstance(leaf, rt.Tensor) else leaf, x)


def result(f: Callable[[], Any]) -> Any:
    """The result, or Python's class and text of the exception."""
    try:
        return plain(f())
    except (ValueError, TypeError) as error:
        return type(error).__name__, str(error).splitlines()[0].split(": ", 1)[-1]
    except IndexError as error:
        return "IndexError", re.sub(r"^.*:\d+: ", "", str(error).splitlines()[0]).split(": ")[0]


# Each takes i = 1 and j = 4.
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "character": lambda i, j: (S[i], S[-i], S[j - 4], S[i + 11]),
    "too far": lambda i, j: S[i + 30],
    "parts": lambda i, j: (S[i:], S[:j], S[i:j], S[-j:-i], S[j:i], S[i:100], S[-100:j], S[2:j], S[i:j:1]),
    "every second": lambda i, j: (S[i::2], S[:j:-1], S[::-i], S[::j], S[j:i:-1], S[j:i:2], S[-j:-100:-2], S[i:j][::-1]),
    "a palindrome": lambda i, j: S[i:j] == S[i:j][::-1],
    "part of a part": lambda i, j: (S[i:][j], S[i:][1:], S[i:j][-1], S[i:j][i:]),
    "too far in a part": lambda i, j: S[i:j][j],
    "lengths": lambda i, j: (len(S[i:j]), len(S[i]), len(WORDS[i]), len(S[i:i])),
    "equal": lambda i, j: (S[i] == S[j], S[i] == "é", "é" != S[i], S[i] != S[i], S[i:j] == S[0:3], S[i:i + 3] == "éll"),
    "ordered": lambda i, j: (S[i] < S[j], S[i] >= "z", "a" <= S[j], WORDS[i] > WORDS[j - 2], WORDS[i] <= "be"),
    "ord": lambda i, j: (ord(S[i]), (ord(S[j]) - 97) % 26, ord(S[i:i + 1]), ord(S[12:][i - 1]), ord(S[11:][i])),
    "ord of more": lambda i, j: ord(S[i:j]),
    "ord of one that has more": lambda i, j: ord(["ab", "c"][i - 1]),
    "chr": lambda i, j: (chr(i + 97), chr(i * 300), chr(i * 8000), chr(i * 128512), chr(i - 1)),
    "no chr": lambda i, j: chr(-i),
    "chr beyond": lambda i, j: chr(i * 0x110000),
    "round trip": lambda i, j: [ord(chr(i * code)) for code in (0, 127, 128, 2047, 2048, 65535, 65536, 0x10FFFF)],
    "methods": lambda i, j: (S[i].isalpha(), S[5 * i].isspace(), S[i].upper() + "!", WORDS[i].startswith("b"),
                             WORDS[j - 2].replace("m", "n"), WORDS[j - 2].find("mm"), S[i].join(["a", "b"])),
    "methods of what branches choose": lambda i, j: (
        ("One" if i > 3 else "TWO" if i > 0 else "").lower(), ("1" if i > 0 else "x").isdigit(),
        int("12" if i > 0 else "7") + j, "w" in ("one" if i > 3 else "two"), ("a" if j > i else "b") in "bcd"),
    "a member's name": lambda i, j: ((Room.HALL if i > 3 else Room.CELLAR).name.lower(), Room(i).name.title()),
    "among": lambda i, j: (S[i] in "aeé", S[j] not in "aeé", "m" in WORDS[j - 2], S[i:j] in ("éll", "x")),
    "numbers": lambda i, j: (int("12345"[i]), float("123"[i]), int("0f"[i], 16)),
    "no number": lambda i, j: int("1x3"[i]),
    "items of words": lambda i, j: (WORDS[j - 2][0], WORDS[j - 2][1:3], WORDS[j - 2][i]),
    "no item of a word": lambda i, j: WORDS[j - 1][0],
    "truth": lambda i, j: (bool(WORDS[j - 1]), bool(WORDS[i]), 1 if S[i:i] else 2),
    "look-up": lambda i, j: ({"a": 1, "é": 2}[S[i]], {"a": 1}.get(S[i], 7)),
    "other text": lambda i, j: (f"{i}{j}"[1], S[i] * 3, f"<{S[i:j]}>", S[i:j] + S[j]),
    "characters of a part": lambda i, j: (
        [ord(c) for c in S[:j]], sum(c in "aeiou" for c in S[i:]), any(c == "l" for c in S[j:i]),
        all(c.isalpha() for c in S[:j]), [c.upper() for c in S[-j:]], [a == b for a, b in zip(S[i:j], S[j:])],
        [k * ord(c) for k, c in enumerate(S[i:j], start=j)], S[i:][-i] in "!", [c for c in S[i:j]]),
    "bools are numbers": lambda i, j: (
        (S[i] in "aé") + (S[j] in "aeo") + (S[2] == S[i + 1]), (S[i] == "é") - (S[j] == "o"), (S[i] == "é") * 3),
    "bytes": lambda i, j: (B[i], B[-i] + 1, B[i] == B[i + 1]),
    "bytes too far": lambda i, j: B[i + 30],
}


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_characters(name: str, executor: str) -> None:
    program = PROGRAMS[name]
    staged = on(executor, program)
    assert result(lambda: staged(rt.constant(1), rt.constant(4))) == result(lambda: program(1, 4))


def counted(i: Any, j: Any) -> Any:
    n = 0
    for c in LONG:
        if c == "l":
            n = n + i
        elif c in "aeoö":
            n = n + 10 * i
    return n


def hashed(i: Any, j: Any) -> Any:
    n = i
    for k, c in enumerate(LONG):
        n = (n * 31 + ord(c) + k) % 1000007
    return n


def hashed_bytes(i: Any, j: Any) -> Any:
    n = i
    for c in B * 50:
        n = (n * 31 + c) % 1000007
    return n


def letters(i: Any, j: Any) -> Any:
    n = 0
    for c in reversed(LONG):
        if c.isalpha():
            n = n * 3 % 1000 + i
    return n


def of_a_part(i: Any, j: Any) -> Any:
    n = 0
    for k, c in enumerate(S[i:]):
        n = (n * 3 + ord(c) * k) % 1000007
    return n


def shifted(i: Any, j: Any) -> Any:
    out = ""
    for c in S[i:j]:
        out = out + chr(ord(c) + 1)
    return out


def scanned(i: Any, j: Any) -> Any:
    k, c = 0, S[0]
    while c != "w":
        k += 1
        c = S[k * i]
    return k, c


def distance(i: Any, j: Any) -> Any:
    a, b = "kitten sitting on", "sitting kitten in"
    row = [*range(len(b) + 1)]
    for p in range(len(a)):
        diagonal, row[0] = row[0], p + i
        for q in range(len(b)):
            cost = 0 if a[p] == b[q] else i
            diagonal, row[q + 1] = row[q + 1], min(row[q + 1] + 1, row[q] + 1, diagonal + cost)
    return row[-1]


@pytest.mark.parametrize("program", [counted, hashed, hashed_bytes, letters, distance])
def test_loops_over_known_text_are_rolled(program: Callable[[Any, Any], Any]) -> None:
    arguments = rt.constant(1), rt.constant(4)
    graph = rt.function(program).get_concrete_function(*arguments).graph
    assert "reduce" in {node.op.name for node in graph.nodes}
    for executor in "native", "numpy":
        assert on(executor, program)(*arguments) == program(1, 4)


@pytest.mark.parametrize("program", [of_a_part, shifted, scanned])
def test_loops_over_text_of_the_graph(program: Callable[[Any, Any], Any]) -> None:
    for executor in "native", "numpy":
        assert plain(on(executor, program)(rt.constant(1), rt.constant(4))) == program(1, 4)


def test_a_loop_that_needs_the_character_itself_is_unrolled() -> None:
    sizes = dict.fromkeys(LONG, 1) | {"l": 3}

    @rt.function
    def f(x: Any) -> Any:
        for c in LONG:
            x = x + rt.ones([sizes[c], 2])[0, 0] * len(c.split())
        return x

    assert f(rt.constant(1.0)) == 1.0 + sum(len(c.split()) for c in LONG)


@pytest.mark.parametrize(("program", "text"), [
    (lambda i, j: S[i:j].encode(), "text that only the graph knows is given to encode"),
    (lambda i, j: complex(S[i:j]), "text with the value of a tensor in it is known only when the graph runs"),
    (lambda i, j: B[i:j], "bytes are cut here where only the graph knows"),
])
def test_refused(program: Callable[[Any, Any], Any], text: str) -> None:
    with pytest.raises(StagingError, match=text):
        rt.function(program)(rt.constant(1), rt.constant(4))


def test_a_step_of_zero() -> None:
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        rt.function(lambda i: S[::i])(rt.constant(0))


def test_a_text_that_a_loop_turns_around() -> None:
    def turned(n: Any) -> Any:
        text = "añb"
        for i in range(n):
            text = (text + "c")[::-1]
            if text[::2] == text[::-1][::2]:
                text = text[::2]
        return text

    for n in range(6):
        assert rt.function(turned)(rt.constant(n)) == turned(n)
