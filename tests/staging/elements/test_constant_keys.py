"""Members of an Enum, functions, classes and known texts as new keys of dicts, and as items of sets, of the graph."""
from __future__ import annotations

import copy
import enum
from collections import Counter, OrderedDict, defaultdict, namedtuple
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import executors
from tests.traced_once import on

Pair = namedtuple("Pair", ["kind", "word"])
WORDS = ["zz", "a", "zz", "c", "b"]


class Kind(enum.Enum):
    A = 1
    B = 2
    C = 3


def more(x): return x + 1


def twice(x): return x * 2


class Token:
    def __init__(self, kind, value):
        self.kind = kind
        self.value = value


class Machine:
    def __init__(self):
        self.counts = Counter()
        self.seen = set()
        self.state = Kind.A

    def step(self, x):
        self.counts[self.state] += 1
        self.seen.add(self.state)
        if x > 1:
            self.state = Kind.B
        elif self.state is Kind.B:
            self.state = Kind.C


def in_order(x: Any) -> Any:
    """A result as plain values, dicts with their classes and as lists of their items."""
    if isinstance(x, dict):
        return type(x).__name__, [(key, in_order(value)) for key, value in x.items()]
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [in_order(item) for item in x]
    return x.numpy().tolist() if isinstance(x, rt.Tensor) else x


def check(fn: Any, executor: str, n: int, *args: Any) -> None:
    """Check that a function of an int gives what Python gives, or raises that, and leaves that in the other arguments,
    with the keys in order."""
    def outcome(called: Any, size: Any) -> Any:
        own = copy.deepcopy(args)
        try:
            return in_order(called(size, *own)), in_order(own)
        except (KeyError, TypeError) as error:
            return type(error), error.args

    assert outcome(on(executor, fn), rt.constant(n)) == outcome(fn, n)


# Members of an Enum.

def counted_tokens(n: Any) -> Any:
    tokens = []
    for i in range(n):
        if i % 3 == 0:
            tokens.append(Token(Kind.B, i))
        else:
            tokens.append(Token(Kind.A, i))
    counts = Counter()
    for token in tokens:
        counts[token.kind] += 1
    return counts, counts.most_common(1)


def under_conditions(n: Any) -> Any:
    counts = defaultdict(int)
    for i in range(n):
        if i > 1:
            counts[Kind.A] += 1
        else:
            counts[Kind.B] += i
    if n > 2:
        counts[Kind.C] = 5
    return counts


def groups(n: Any) -> Any:
    found, same = {}, defaultdict(list)
    for i in range(n):
        kind = Kind.A if i % 2 else Kind.B
        found.setdefault(kind, []).append(i)
        same[kind].append(-i)
    return found, same


def visits(n: Any) -> Any:
    state, seen = Kind.A, {Kind.A: 0}
    for i in range(n):
        if state is Kind.A:
            state = Kind.B
        elif state is Kind.B:
            state = Kind.C if i > 2 else Kind.A
        seen[state] = seen.get(state, 0) + 1
    return seen, state


def table_of_states(n: Any) -> Any:
    after = {Kind.A: Kind.B, Kind.B: Kind.C, Kind.C: Kind.A}
    state, last = Kind.C, OrderedDict()
    for i in range(n):
        last[state] = i
        state = after[state]
    last.move_to_end(Kind.A)
    return last


def pairs(n: Any) -> Any:
    found, named = {}, {}
    for i in range(n):
        kind, word = Kind.A if i % 2 else Kind.B, "p" if i > 2 else "q"
        found[kind, i % 3] = i
        named[Pair(kind, word)] = found.get((kind, 1), -1)
    return found, named


def read(n: Any) -> Any:
    found = {}
    for i in range(n):
        found[Kind.A if i % 2 else Kind.B] = i
    total = 0
    for kind, value in found.items():
        if kind is Kind.A:
            total += value
    key = Kind.A if n > 3 else Kind.B
    return (total, [kind.name for kind in found], found[key], found.get(Kind.C, -1), Kind.C in found, "A" in found,
            1 in found, sorted(found.values()), list(found), f"{found} {list(found)}", max(found, key=found.get),
            found == {Kind.B: 4, Kind.A: 3}, {**found, Kind.C: 0}, found.keys() & {Kind.A, Kind.C} == {Kind.A})


def taken_out(n: Any) -> Any:
    found = {}
    for i in range(n):
        found[Kind.A if i % 2 else Kind.B] = i
    first = found.pop(Kind.B)
    key = Kind.A if n > 100 else Kind.C
    other = found.pop(key, -1)
    found[Kind.C] = 3
    found[Kind.B] = 7
    del found[Kind.A]
    return found, first, other


def missing(n: Any) -> Any:
    found = {}
    for i in range(n):
        found[Kind.A if i % 2 else Kind.C] = i
    key = Kind.B if n > 3 else Kind.A
    return found[key]


def missing_pair(n: Any) -> Any:
    found = {}
    for i in range(n):
        found[Kind.A if i % 2 else Kind.C, i] = i
    key = Kind.B if n > 3 else Kind.A
    return found[key, n]


def values_of_several_types(n: Any) -> Any:
    found = {}
    if n > 2:
        found[Kind.A] = 1
    else:
        found[Kind.B] = 2.5
    found[Kind.C] = "c"
    return found


def of_lists(n: Any) -> Any:
    found = [{} for _ in range(3)]
    for i in range(n):
        found[i % 3][Kind.A if i % 2 else Kind.B] = i
    return found, {Kind.A: found}


def comprehensions(n: Any) -> Any:
    kinds = []
    for i in range(n):
        kinds.append(Kind.A if i % 2 else Kind.C)
    return {kind: 1 for kind in kinds}, dict.fromkeys(kinds, 0), Counter(kinds)


def functions_and_classes(n: Any) -> Any:
    found, kinds = {}, {}
    for i in range(n):
        function = more if i % 3 else twice
        found[function] = found.get(function, 0) + 1
        kinds[Token if i % 3 else Kind] = i
    return found, kinds, [function(3) for function in found]


def machine(n: Any) -> Any:
    made = Machine()
    for i in range(n):
        made.step(i % 3)
    return made.counts, made.state, len(made.seen)


@executors
@pytest.mark.parametrize("fn", [
    counted_tokens, under_conditions, groups, visits, table_of_states, pairs, read, taken_out, missing, missing_pair,
    values_of_several_types, of_lists, comprehensions, functions_and_classes, machine])
def test_members(fn: Any, executor: str) -> None:
    check(fn, executor, 5)


def into_argument(n: Any, found: Any) -> None:
    for i in range(n):
        kind = Kind.A if i % 2 else Kind.B
        found[kind] = found.get(kind, 0) + 1
    if n > 2:
        found[Kind.C] = 9


def words_into_argument(n: Any, found: Any) -> None:
    for i in range(n):
        word = WORDS[i]
        found[word] = found.get(word, 0) + i


@executors
@pytest.mark.parametrize("found", [{}, {Kind.C: 4, Kind.A: 1}, Counter(), defaultdict(int, {Kind.A: 2})])
def test_dicts_of_the_caller(found: Any, executor: str) -> None:
    check(into_argument, executor, 5, found)


@executors
@pytest.mark.parametrize("found", [{}, {"q": 1, "a": 2}])
def test_words_in_dicts_of_the_caller(found: Any, executor: str) -> None:
    check(words_into_argument, executor, 5, found)


# Members of Enums that are numbers or text.

class Op(enum.IntEnum):
    PUSH = 0
    ADD = 1


class Other(enum.IntEnum):
    ONE = 1
    TWO = 2


class Flag(enum.IntFlag):
    READ = 4
    WRITE = 2


class Name(str, enum.Enum):
    A = "a"
    B = "b"


OPS = [Op.PUSH, Op.ADD, Op.PUSH, Op.PUSH, Op.ADD]
CODE = [(Op.PUSH, 1), (Op.ADD, -1)]


def counted_numbers(n: Any) -> Any:
    counts = Counter()
    for i in range(n):
        counts[OPS[i]] += 1
    return counts, [op.name for op in counts], counts.most_common(1)


def asked_by_numbers(n: Any) -> Any:
    counts = Counter()
    for i in range(n):
        counts[Op(i % 2)] += 1
    return (counts[0], counts[1], counts[n - 4], counts[n], 1 in counts, n in counts, 0.5 in counts, "a" in counts,
            Other.ONE in counts, Other.TWO in counts, counts.get(Other(n - 4), -1))


def chosen_flags(n: Any) -> Any:
    found = {}
    for i in range(n):
        found[Flag.READ if i % 2 else Flag.READ | Flag.WRITE] = i
    return found, found[4], found[n + 1]


def chosen_names(n: Any) -> Any:
    found = {}
    for i in range(n):
        found[Name.A if i % 2 else Name.B] = i
    return found, found["a"], found["ab"[n - 4]], "c" in found, [key.name for key in found]


def members_of_rows(n: Any) -> Any:
    counts, i = Counter(), 0
    while n > 0:
        op, step = CODE[i]
        counts[op] += 1
        i += step
        n -= 1
    return counts


def sets_of_numbers(n: Any) -> Any:
    seen = set()
    for i in range(n):
        seen.add(Op(i % 2))
    return sorted(seen), Op.ADD in seen, 1 in seen, n in seen, len(seen), seen == {0, 1}


def asked_by_members(n: Any) -> Any:
    found = {}
    for i in range(n):
        found[i] = i
    return found[Op.ADD], found[Op(n - 4)], Op.PUSH in found, Other.TWO in found, found.pop(Op.ADD), found


def known_keys_of_numbers(n: Any) -> Any:
    members, numbers = {Op.PUSH: 0, Op.ADD: 0}, {1: 0, 0: 0}
    for i in range(n):
        members[i % 2] += 1
        numbers[Op(i % 2)] += 1
    return members, numbers


def missing_number(n: Any) -> Any:
    found = {}
    for i in range(n):
        found[Op(i % 1)] = i
    return found[Op(n - 4)]


@executors
@pytest.mark.parametrize("fn", [
    counted_numbers, asked_by_numbers, chosen_flags, chosen_names, members_of_rows, sets_of_numbers, asked_by_members,
    known_keys_of_numbers])
def test_members_that_are_numbers_or_text(fn: Any, executor: str) -> None:
    check(fn, executor, 5)
    assert _kinds(on(executor, fn)(rt.constant(5))) == _kinds(fn(5))


def _kinds(x: Any) -> Any:
    """The classes of the keys of dicts in a result; `==` does not tell a member from its number."""
    parts = [type(key) for key in x] if isinstance(x, dict) else [*map(_kinds, x)] if isinstance(x, tuple) else []
    return parts


@executors
def test_a_missing_number(executor: str) -> None:
    check(missing_number, executor, 5)


@executors
@pytest.mark.parametrize("found", [{}, {Op.ADD: 4}, Counter()])
def test_numbers_in_dicts_of_the_caller(found: Any, executor: str) -> None:
    def f(n: Any, found: Any) -> None:
        for i in range(n):
            found[Op(i % 2)] = i

    check(f, executor, 5, found)
    given = copy.copy(found)
    on(executor, f)(rt.constant(5), given)
    assert {type(key) for key in given} == {Op}


# Items of sets.

def states_seen(n: Any) -> Any:
    seen, state = set(), Kind.A
    for i in range(n):
        seen.add(state)
        state = Kind.B if i % 2 else Kind.C
    return seen, len(seen), Kind.A in seen, Kind.B in seen, sum(1 for kind in seen if kind is not Kind.A)


def until_seen(n: Any) -> Any:
    seen, state, steps = set(), Kind.A, 0
    while state not in seen:
        seen.add(state)
        steps += 1
        if steps < n:
            state = Kind.B if state is Kind.A else Kind.C
    return steps


def operations(n: Any) -> Any:
    a, b = set(), set()
    for i in range(n):
        a.add(Kind.A if i % 2 else Kind.B)
        b.add(Kind.B if i % 2 else Kind.C)
    b.discard(Kind.A)
    return a & b, a | b, a - b, a == {Kind.A, Kind.B}, a <= b, {kind for kind in a if kind is Kind.A}, frozenset(b)


def words_seen(n: Any) -> Any:
    seen, pairs_seen = set(), set()
    for i in range(n):
        seen.add(WORDS[i])
        pairs_seen.add((WORDS[i], i % 2))
    return seen, len(seen), "zz" in seen, "q" in seen, sorted(seen), ("a", 1) in pairs_seen, ",".join(sorted(seen))


@executors
@pytest.mark.parametrize("fn", [states_seen, until_seen, operations, words_seen])
def test_sets(fn: Any, executor: str) -> None:
    check(fn, executor, 5)


# Known texts.

def words(n: Any) -> Any:
    counts = {}
    for i in range(n):
        word = WORDS[i]
        counts[word] = counts.get(word, 0) + 1
    return counts


def words_read(n: Any) -> Any:
    counts = words(n)
    names = list(counts)
    names.append("new")
    names.append(f"{n}")
    upper = {word.upper(): count for word, count in counts.items()}
    return (names, sorted(counts), ",".join(counts), sorted(counts.items()), max(counts), upper,
            [word > "b" for word in counts], counts[f"z{'z' if n > 2 else 'y'}"],
            counts.get(f"{n}", -1), f"{n}" in counts, f"{counts}")


def sorted_anew(n: Any) -> Any:
    counts, made = words(n), {}
    for word in sorted(counts):
        made[word] = counts[word]
    return made


def chosen(n: Any) -> Any:
    counts, firsts = defaultdict(int), {}
    for i in range(n):
        counts["even" if i % 2 == 0 else "odd"] += 1
        firsts.setdefault(WORDS[i][0], []).append(i)
    return counts, firsts


def letters(n: Any) -> Any:
    counts, some = {}, Counter()
    for i in range(n):
        letter = "hello"[i]
        counts[letter] = counts.get(letter, 0) + 1
    for letter in "mississippi":
        if n > 0:
            some[letter] += 1
        n -= 2
    return counts, some


def new_ones(n: Any) -> Any:
    found = {"q": 1}
    for i in range(n):
        found[WORDS[i]] = i
    found["new"] = 3
    return found


def missing_word(n: Any) -> Any:
    return words(n)["u" if n > 2 else "a"]


@executors
@pytest.mark.parametrize("fn", [words, words_read, sorted_anew, chosen, letters, new_ones, missing_word])
def test_words(fn: Any, executor: str) -> None:
    check(fn, executor, 5)


# The order of keys that are known, but not whether they are there.

def second_first(n: Any) -> Any:
    found = {}
    for i in range(n):
        if i % 2:
            found["odd"] = i
        else:
            found["even"] = i
    return found


def one_or_the_other_first(n: Any) -> Any:
    found = {}
    if n > 3:
        found["a"] = 1
    else:
        found["b"] = 2
    if n < 8:
        found["b"] = 5
    found["a"] = 7
    return found, list(found)


def of_a_known_loop(n: Any) -> Any:
    found, sums, lists, counts = {}, defaultdict(int), {}, Counter()
    for word in WORDS:
        if n % 2 == 0:
            found[word] = n
            sums[word] += n
            lists.setdefault(word, []).append(n)
            counts[word] += 1
        n //= 2
    return found, sums, lists, counts


@executors
@pytest.mark.parametrize("n", [1, 2, 5, 12])
@pytest.mark.parametrize("fn", [second_first, one_or_the_other_first, of_a_known_loop])
def test_order(fn: Any, n: int, executor: str) -> None:
    check(fn, executor, n)


def test_attributes_stay_attributes() -> None:
    class Holder:
        pass

    def f(n: Any) -> Any:
        o = Holder()
        held = o.__dict__
        if n > 2:
            o.a = n
        else:
            o.b = n
        held["a"] = 5
        return o.a

    assert int(rt.function(f)(rt.constant(1))) == 5


# Refusals.

def of_members_and_numbers(n: Any) -> Any:
    found = {}
    for i in range(n):
        found[Kind.A if i % 2 else Kind.B] = i
    found[3] = 1
    return found


def of_words_and_members(n: Any) -> Any:
    seen = set()
    for i in range(n):
        seen.add(WORDS[i])
        seen.add(Kind.A)
    return seen


def trie(n: Any) -> Any:
    root = {}
    for word in ("to", "tea"):
        node = root
        for letter in word:
            if n > 0:
                node = node.setdefault(letter, {})
            n -= 1
    return root


def of_numbers_and_members(n: Any) -> Any:
    found = {}
    for i in range(n):
        found[i] = i
        found[Op(i % 2)] = i
    return found


def of_members_and_their_numbers(n: Any) -> Any:
    seen = {Op.ADD}
    for i in range(n):
        seen.add(Op(i % 2))
        seen.add(i)
    return len(seen)


def of_two_enums(n: Any) -> Any:
    found = {}
    for i in range(n):
        found[Op(i % 2)] = i
        found[Other(i % 2 + 1)] = i
    return found


@pytest.mark.parametrize("fn, message", [
    (of_numbers_and_members, "a key of a dict that changes in staged code is of another kind here than the others"),
    (of_members_and_their_numbers, "an item of a set that changes in staged code is of another kind here than the"),
    (of_two_enums, "a key of a dict that changes in staged code is of another kind here than the others"),
    (trie, "only the graph knows whether there is the key 't' of a dict, and which of several dicts this is"),
    (of_members_and_numbers, "a key of a dict that changes in staged code is of another kind here than the others"),
    (of_words_and_members, "an item of a set that changes in staged code is of another kind here than the others")])
def test_refusals(fn: Any, message: str) -> None:
    with pytest.raises(rt.errors.StagingError, match=message) as error:
        rt.function(fn)(rt.constant(3))
    assert str(error.value).startswith(f"{__file__}:")


def test_sorting_members_is_pythons_error() -> None:
    def f(n: Any) -> Any:
        return sorted(words_of_kinds(n))

    def words_of_kinds(n: Any) -> Any:
        found = {}
        for i in range(n):
            found[Kind.A if i % 2 else Kind.B] = i
        return found

    with pytest.raises(TypeError, match="'<' not supported between instances of 'Kind' and 'Kind'"):
        rt.function(f)(rt.constant(3))
