"""Programs on linked objects, as textbooks have them."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.plain_values import Job, check_shown, check_sizes, executors, identities, shown
from tests.traced_once import on


class ListNode:
    def __init__(self, val=0, next=None):
        self.val = val
        self.next = next


def add_two(xs: Any, ys: Any) -> Any:
    def build(v):
        head = None
        for i in range(len(v) - 1, -1, -1):
            head = ListNode(v[i], head)
        return head
    a, b = build(xs), build(ys)
    dummy = ListNode()
    cur, carry = dummy, 0
    while a or b or carry:
        s = carry
        if a:
            s += a.val
            a = a.next
        if b:
            s += b.val
            b = b.next
        carry = s // 10
        cur.next = ListNode(s % 10)
        cur = cur.next
    out = []
    node = dummy.next
    while node:
        out.append(node.val)
        node = node.next
    return out


def merge_sorted(xs: Any, ys: Any) -> Any:
    def build(v):
        head = None
        for x in sorted(v, reverse=True):
            head = ListNode(x, head)
        return head
    a, b = build(xs), build(ys)
    dummy = tail = ListNode()
    while a is not None and b is not None:
        if a.val <= b.val:
            tail.next, a = a, a.next
        else:
            tail.next, b = b, b.next
        tail = tail.next
    tail.next = a if a is not None else b
    out, node = [], dummy.next
    while node is not None:
        out.append(node.val)
        node = node.next
    return out


def cycle(n: Any) -> Any:
    nodes = [ListNode(i) for i in range(n)]
    for i in range(n - 1):
        nodes[i].next = nodes[i + 1]
    nodes[n - 1].next = nodes[2]
    slow = fast = nodes[0]
    while fast is not None and fast.next is not None:
        slow = slow.next
        fast = fast.next.next
        if slow is fast:
            return slow.val
    return -1


class Account:
    def __init__(self, owner, balance):
        self.owner = owner
        self.balance = balance
        self.log = []
    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError("insufficient")
        self.balance -= amount
        self.log.append(-amount)


def bank(amounts: Any) -> Any:
    a = Account("a", 100)
    b = Account("b", 10)
    cur, failed = a, 0
    for x in amounts:
        try:
            cur.withdraw(x)
        except ValueError:
            failed += 1
            cur = b if cur is a else a
    return a.balance, b.balance, failed, len(a.log), a.log


class Animal:
    def __init__(self, pos, energy):
        self.pos, self.energy, self.alive = pos, energy, True
    def act(self, others):
        near = None
        for o in others:
            if o is not self and o.alive and abs(o.pos - self.pos) < 2:
                near = o
        if near is not None:
            self.energy += near.energy
            near.alive = False


def animals(n: Any) -> Any:
    pop = [Animal(i * 3 % 7, i + 1) for i in range(n)]
    for day in range(3):
        for a in pop:
            if a.alive:
                a.act(pop)
        pop = [a for a in pop if a.alive]
        for a in pop:
            a.pos += 1
    return [(a.pos, a.energy) for a in pop]


def josephus(n: Any) -> Any:
    first = prev = ListNode(0)
    for i in range(1, n):
        prev.next = ListNode(i)
        prev = prev.next
    prev.next = first
    out = []
    while prev.next is not prev:
        prev = prev.next
        out.append(prev.next.val)
        prev.next = prev.next.next
    return out, prev.val


def scheduler(n: Any) -> Any:
    procs = [Job(i * 3 % 5 + 1) for i in range(n)]
    ready, done, t = procs[:], [], 0
    while ready:
        p = min(ready, key=lambda p: p.x - p.n)
        p.n += 1
        t += 1
        if p.n == p.x:
            ready.remove(p)
            done.append(p)
    return [p.x for p in done], t, [p.n for p in procs]


class Trie:
    """A trie with a list of children."""

    def __init__(self):
        self.kids = [None] * 4
        self.end = False
        self.count = 0

    def insert(self, word):
        node = self
        for c in word:
            if node.kids[c] is None:
                node.kids[c] = Trie()
            node = node.kids[c]
            node.count += 1
        node.end = True

    def has(self, word):
        node = self
        for c in word:
            if node.kids[c] is None:
                return False
            node = node.kids[c]
        return node.end


def trie(n: Any) -> Any:
    root, words = Trie(), [[0, 1, 2], [0, 1], [n, 2, 1], [n, 2]]
    for word in words:
        root.insert(word)
    return [root.has(word) for word in words], root.has([0]), root.has([1, 2]), root.kids[0].count


class Branches:
    """A trie with a dict of children."""

    def __init__(self):
        self.kids = {}
        self.end = False

    def insert(self, word):
        node = self
        for c in word:
            if c not in node.kids:
                node.kids[c] = Branches()
            node = node.kids[c]
        node.end = True

    def has(self, word):
        node = self
        for c in word:
            if c not in node.kids:
                return False
            node = node.kids[c]
        return node.end


def trie_of_dicts(n: Any) -> Any:
    root, words = Branches(), [[0, 1, 2], [0, 1], [n, 2, 1], [n, 2]]
    for word in words:
        root.insert(word)
    return [root.has(word) for word in words], root.has([0]), root.has([1, 2])


def trie_of_many(n: Any) -> Any:
    root, x = Branches(), n
    for _ in range(n * 3):
        x = (x * 7 + 3) % 29
        root.insert([x % 3, x % 4, x % 2])
    total = 0
    for i in range(3):
        for j in range(4):
            if root.has([i, j, 1]):
                total += 1
    return total


class Level:
    def __init__(self, value, size):
        self.value = value
        self.next = [None] * size


def skip_list(n: Any) -> Any:
    head = last = Level(-1, 3)
    for i in range(n):
        made = Level(i, 3)
        last.next[0] = made
        if i % 2 == 0:
            last.next[i % 3] = made
        last = made
    total, cur = 0, head.next[0]
    while cur is not None:
        total = total * 2 + cur.value
        cur = cur.next[0]
    return total, head.next[1] is None


def slots(n: Any) -> Any:
    root = Trie()
    node = root
    for i in range(n):
        node.kids[i] = Trie()
        node = node.kids[i]
        node.count += i
    return root.kids[0].kids[1].count, root.kids[3] is None, root.kids[0] is None


class Root:
    def __init__(self, i):
        self.i = i
        self.parent = self
        self.rank = 0

    def find(self):
        x = self
        while x.parent is not x:
            x = x.parent
        return x


def union_find(n: Any) -> Any:
    xs, x = [Root(i) for i in range(n)], n
    for _ in range(n - 2):
        x = (x * 5 + 1) % 11
        a, b = xs[x % n].find(), xs[(x + 2) % n].find()
        if a is not b:
            if a.rank < b.rank:
                a, b = b, a
            b.parent = a
            if a.rank == b.rank:
                a.rank += 1
    return [x.find().i for x in xs], len({x.find() for x in xs})


class Stack:
    def __init__(self):
        self.top = None
        self.size = 0

    def push(self, value):
        self.top = ListNode(value, self.top)
        self.size += 1

    def pop(self):
        value = self.top.val
        self.top = self.top.next
        self.size -= 1
        return value

    def __len__(self):
        return self.size


class TrueStack(Stack):
    def __bool__(self):
        return self.top is not None


def stacks(n: Any) -> Any:
    one, other, out = Stack(), TrueStack(), []
    for i in range(n):
        one.push(i * i)
        other.push(i)
        if i % 3 == 2:
            out.append(one.pop())
    while one:
        out.append(one.pop())
    while other:
        out.append(other.pop())
    return out, len(one), bool(one), bool(other), 1 if other else 2


class LinkedList:
    def __init__(self):
        self.head = None
        self.size = 0

    def add(self, value):
        self.head = ListNode(value, self.head)
        self.size += 1

    def __iter__(self):
        cur = self.head
        while cur is not None:
            yield cur.val
            cur = cur.next

    def __len__(self):
        return self.size

    def __contains__(self, value):
        cur = self.head
        while cur is not None:
            if cur.val == value:
                return True
            cur = cur.next
        return False

    def __getitem__(self, i):
        cur = self.head
        for _ in range(i):
            cur = cur.next
        return cur.val

    def __eq__(self, other):
        return len(self) == len(other)

    def __str__(self):
        return f"list of {self.size}"


def squares(n):
    made = LinkedList()
    for i in range(n):
        made.add(i * i)
    return made


def special_methods_of_a_list(n: Any) -> Any:
    xs, total = squares(n), 0
    for x in xs:
        total = total * 3 + x
    return (total, len(xs), list(xs), sum(xs), [x + 1 for x in xs], max(xs), 4 in xs, 5 in xs, xs[1], xs[n - 1],
            xs == squares(n), xs != squares(n + 1), str(xs), 1 if xs else 2, not xs, [(i, x) for i, x in enumerate(xs)])


class Vector:
    def __init__(self, x, y):
        self.x = x
        self.y = y
        self.link = None

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __abs__(self):
        return self.x * self.x + self.y * self.y

    def __lt__(self, other):
        return abs(self) < abs(other)

    def __call__(self, k):
        return self.x + k


def special_methods_of_numbers(n: Any) -> Any:
    a = None
    for i in range(n):
        b = Vector(i, i + 1)
        b.link, a = a, b
    c = a + a.link
    d = -(c * 3)
    return abs(d), c.x, d.y, c < d, a(5), sorted([d, a, c])[0].x, min(a, c).x, max([a, d]).y


class Slot:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class SlotNode(Slot):
    __slots__ = ("left", "right")

    def __init__(self, value, left=None):
        super().__init__(value)
        self.left = left
        self.right = None


def reversed_links_in_slots(n: Any) -> Any:
    head = None
    for k in range(n):
        head = SlotNode(k, head)
    last, node = None, head
    while node is not None:
        following = node.left
        node.left, last, node = last, node, following
    found = []
    while last:
        found.append(last.value)
        last = last.left
    return found


def tree_of_slots(xs: Any) -> Any:
    root = None
    for x in xs:
        if root is None:
            root = SlotNode(x)
            continue
        node = root
        while True:
            if x < node.value:
                if node.left is None:
                    node.left = SlotNode(x)
                    break
                node = node.left
            else:
                if node.right is None:
                    node.right = SlotNode(x)
                    break
                node = node.right

    def height(node):
        return 0 if node is None else 1 + max(height(node.left), height(node.right))

    return height(root)


def values(node):
    while node:
        yield node.val
        node = node.next


class Chain:
    def __init__(self, head=None):
        self.head = head

    def __iter__(self):
        node = self.head
        while node:
            yield node.val
            node = node.next

    def __len__(self):
        return 0  # not the truth of its nodes


def generators_of_nodes(n: Any) -> Any:
    found = ListNode(1, ListNode(2, ListNode(3)))
    if n > 2:
        found = found.next
    total = sum(values(found))
    made = None
    for i in range(n):
        made = ListNode(i, made)
    first = 0
    for value in values(made):
        first = 10 * first + value
        if value < 2:
            break
    return total, list(values(found)), first, [value for value in values(made) if value % 2], list(values(None))


def iterators_of_nodes(n: Any) -> Any:
    chain, other = Chain(), Chain(ListNode(1, ListNode(2)))
    for i in range(n):
        chain.head = ListNode(i, chain.head)
    if n > 2:
        other.head = other.head.next
    return list(chain), sum(other), max(chain, default=-1)


PROGRAMS = [
    (reversed_links_in_slots, [4]),
    (tree_of_slots, [np.array([3, 1, 2, 5, 4])]),
    (add_two, [np.array([2,4,3]), np.array([5,6,4,9])]),
    (merge_sorted, [np.array([3,1,2]), np.array([2,5])]),
    (cycle, [6]),
    (bank, [np.array([50, 20, 500, 30])]),
    (animals, [6]),
    (josephus, [8]),
    (scheduler, [5]),
    (union_find, [6]),
    (special_methods_of_a_list, [4]),
    (special_methods_of_numbers, [4]),
    (stacks, [5]),
    (trie, [3]),
    (trie_of_dicts, [3]),
    (trie_of_many, [5]),
    (skip_list, [5]),
    (slots, [3]),
    (generators_of_nodes, [4]),
    (generators_of_nodes, [0]),
    (iterators_of_nodes, [4]),
    (iterators_of_nodes, [0]),
]


@executors
@pytest.mark.parametrize(("fn", "args"), PROGRAMS)
def test_programs(fn: Any, args: list[Any], executor: str) -> None:
    check_shown(fn, executor, *args)


class Ends:
    def __init__(self):
        self.head = self.tail = None

    def append(self, val):
        made = ListNode(val)
        if self.head is None:
            self.head = self.tail = made
        else:
            self.tail.next = made
            self.tail = made


def digits(node):
    number = 0
    while node is not None:
        number = number * 10 + node.val
        node = node.next
    return number


def one_object_in_two_attributes(n: Any) -> Any:
    ends = Ends()
    for i in range(n):
        if ends.head is None:
            ends.head = ends.tail = ListNode(i)
        else:
            ends.tail.val += 10
    return ends.head.val, ends.tail.val


def one_object_until_the_next(n: Any) -> Any:
    ends = Ends()
    for i in range(n):
        if i > 0:
            ends.tail.val += 10
            ends.tail = ListNode(i)
        else:
            ends.head = ends.tail = ListNode(i)
    return ends.head.val, ends.tail.val


def queue_with_two_ends(n: Any) -> Any:
    ends = Ends()
    for i in range(n):
        made = ListNode(i)
        if ends.head is None:
            ends.head = ends.tail = made
        else:
            ends.tail.next = made
            ends.tail = made
    return digits(ends.head), ends.head.val, ends.tail.val


def queue_with_a_method(n: Any) -> Any:
    ends = Ends()
    for i in range(n):
        ends.append(i)
    return digits(ends.head), ends.head is ends.tail


def queue_in_a_dict(n: Any) -> Any:
    ends: Any = {"head": None, "tail": None}
    for i in range(n):
        made = ListNode(i)
        if ends["head"] is None:
            ends["head"] = ends["tail"] = made
        else:
            ends["tail"].next = made
            ends["tail"] = made
    return digits(ends["head"])


def queue_in_a_list(n: Any) -> Any:
    ends: Any = [None, None]
    for i in range(n):
        made = ListNode(i)
        if ends[0] is None:
            ends[0] = ends[1] = made
        else:
            ends[1].next = made
            ends[1] = made
    return digits(ends[0])


def one_list_in_two_items(n: Any) -> Any:
    both: Any = [None, None]
    for i in range(n):
        if i == 0:
            both[0] = both[1] = [i]
        else:
            both[1].append(i)
    return len(both[0]), len(both[1])


class Pair:
    def __init__(self, val, before=None):
        self.val, self.before, self.after = val, before, None


class OtherPair(Pair):
    def __init__(self, val):
        super().__init__(-val)


def doubly_linked(n: Any) -> Any:
    last = None
    for i in range(n):
        made = Pair(i)
        if last is not None:
            last.after = made
            made.before = last
        last = made
    first, forth, back = last, 0, 0
    while last is not None:
        first, back = last, back * 10 + last.val
        last = last.before
    while first is not None:
        forth = forth * 10 + first.val
        first = first.after
    return forth, back


def doubly_linked_by_its_constructor(n: Any) -> Any:
    last = None
    for i in range(n):
        if last is not None:
            made = Pair(i, last)
            last.after = made
        else:
            made = Pair(i)
        last = made
    return last.val, last.before.val if last.before is not None else -1, last.after is None


def doubly_linked_of_two_classes(n: Any) -> Any:
    last = None
    for i in range(n):
        made = Pair(i) if i % 2 == 0 else OtherPair(i)
        if last is not None:
            last.after, made.before = made, last
        last = made
    back = 0
    while last is not None:
        back, last = back * 10 + last.val, last.before
    return back


@executors
@pytest.mark.parametrize("fn", [doubly_linked, doubly_linked_by_its_constructor, doubly_linked_of_two_classes])
def test_an_attribute_is_given_what_may_be_none_elsewhere(fn: Any, executor: str) -> None:
    check_sizes(fn, executor, 4, 1, 2)


def one_object_in_two_variables(n: Any) -> Any:
    one = other = third = None
    for i in range(n):
        one = other = ListNode(i)
        third = ListNode(i)
    return one is other, one is third


@executors
@pytest.mark.parametrize("fn", [
    one_object_in_two_variables, one_object_in_two_attributes, one_object_until_the_next, queue_with_two_ends,
    queue_with_a_method, queue_in_a_dict, queue_in_a_list, one_list_in_two_items])
def test_one_new_object_at_two_places(fn: Any, executor: str) -> None:
    check_sizes(fn, executor, 4, 1, 2)


@executors
def test_one_new_object_at_two_places_of_an_argument(executor: str) -> None:
    def appended(ends, n):
        for i in range(n):
            ends.append(i)
        return digits(ends.head)

    ends, expected = Ends(), Ends()
    assert on(executor, appended)(ends, rt.constant(4)).numpy() == appended(expected, 4) == 123
    assert ends.head.next.next.next is ends.tail


def linked(*values):
    head = None
    for value in reversed(values):
        head = ListNode(value, head)
    return head


def merged_until_break(a: Any, b: Any, limit: Any) -> Any:
    dummy = tail = ListNode(-1)
    while a and b:
        if a.val <= b.val:
            tail.next, a = a, a.next
        else:
            tail.next, b = b, b.next
        tail = tail.next
        if tail.val > limit:
            break
    return dummy.next


def merged_until_return(a: Any, b: Any, limit: Any) -> Any:
    dummy = tail = ListNode(-1)
    while a and b:
        if a.val <= b.val:
            tail.next = a
            a = a.next
        else:
            tail.next = b
            b = b.next
        tail = tail.next
        if tail.val > limit:
            return dummy.next
    return dummy.next


@executors
@pytest.mark.parametrize("limit", [100, 2, 0])
@pytest.mark.parametrize("fn", [merged_until_break, merged_until_return])
def test_a_merge_of_two_arguments_that_a_loop_leaves(fn: Any, limit: int, executor: str) -> None:
    given, expected = (linked(1, 4), linked(2, 3)), (linked(1, 4), linked(2, 3))
    merged, wanted = on(executor, fn)(*given, rt.constant(limit)), fn(*expected, limit)
    assert shown([merged, *given]) == shown([wanted, *expected])
    assert identities([merged, *given]) == identities([wanted, *expected])
