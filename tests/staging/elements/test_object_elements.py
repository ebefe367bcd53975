"""Objects of the program's classes as elements of lists and dicts whose number of elements only the graph knows."""
from __future__ import annotations

import collections
import copy
import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.plain_values import check_refused, check_sizes, executors


@dataclass
class Particle:
    x: Any
    v: Any = 0.0


@dataclass(frozen=True)
class Point:
    x: Any
    y: Any

    def __add__(self, other: Point) -> Point:
        return Point(self.x + other.x, self.y + other.y)


@dataclass
class Node:
    key: Any
    left: Any = -1
    right: Any = -1


@dataclass
class Item:
    name: str
    price: Any
    count: Any = 0
    best: Any = None
    marks: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class Slotted:
    x: Any


class Ball:
    """A plain class, with methods that change the object."""

    def __init__(self, x: Any, v: Any) -> None:
        self.x = x
        self.v = v
        self.bounces: list[Any] = []

    def step(self, dt: float) -> None:
        self.x += self.v * dt
        if self.x > 3:
            self.v = -self.v
            self.bounces.append(self.x)

    def energy(self) -> Any:
        return 0.5 * self.v ** 2


class Account:
    def __init__(self, owner: Any, balance: Any = 0) -> None:
        self.owner = owner
        self.balance = balance

    def deposit(self, amount: Any) -> None:
        self.balance += amount

    def withdraw(self, amount: Any) -> Any:
        if amount > self.balance:
            return False
        self.balance -= amount
        return True


class Stack:
    def __init__(self) -> None:
        self.items: list[Any] = []

    def push(self, x: Any) -> None:
        self.items.append(x)

    def pop(self) -> Any:
        return self.items.pop()

    def __len__(self) -> int:
        return len(self.items)


def methods_change_them(n: Any) -> Any:
    balls = [Ball(1.0 * i, 1.0) for i in range(n)]
    for _ in range(4):
        for ball in balls:
            ball.step(0.5)
    return [b.x for b in balls], [len(b.bounces) for b in balls], sum(b.energy() for b in balls)


def appended_one_by_one(n: Any) -> Any:
    found = []
    for i in range(n):
        p = Particle(1.0 * i)
        found.append(p)
        if i > 2:
            p.x = -1.0
        p.v += i
    return found


def values_of_a_dict(n: Any) -> Any:
    accounts = {}
    for i in range(n):
        accounts[i] = Account(i, 10 * i)
    done = 0
    for i in range(n):
        if accounts[i].withdraw(20):
            done += 1
            accounts[(i + 1) % n].deposit(20)
    return done, [a.balance for a in accounts.values()]


def made_where_missing(n: Any) -> Any:
    groups = {}
    for i in range(n):
        groups.setdefault(i % 3, Account(i % 3)).deposit(i)
    return {key: group.balance for key, group in groups.items()}


def default_factory(n: Any) -> Any:
    found = collections.defaultdict(lambda: Particle(0.0))
    for i in range(n):
        found[i % 3].x += i
        if i % 2:
            found[i % 3].v -= 1
    return [(key, p.x, p.v) for key, p in found.items()]


def got_from_a_dict(n: Any) -> Any:
    found = {}
    for i in range(n):
        p = found.get(i % 3)
        if p is None:
            found[i % 3] = Particle(1.0 * i)
        else:
            p.v += p.x
    return [(p.x, p.v) for p in found.values()]


def binary_tree(n: Any) -> Any:
    tree = []
    for i in range(n):
        key = (i * 7 + 3) % 11
        tree.append(Node(key))
        if i == 0:
            continue
        j = 0
        while True:
            node = tree[j]
            if key < node.key:
                if node.left < 0:
                    node.left = i
                    break
                j = node.left
            else:
                if node.right < 0:
                    node.right = i
                    break
                j = node.right
    return tree


def text_none_and_lists(n: Any) -> Any:
    items = [Item(f"item{i}", 1.5 * i) for i in range(n)]
    for i, item in enumerate(items):
        item.count += i
        item.marks.append(i)
        if item.price > 2:
            item.best = i
            item.name += "!"
            item.marks.extend([7, 8])
    return items


def pairs_of_them(n: Any) -> Any:
    found = [Particle(1.0 * i) for i in range(n)]
    for p in found:
        for q in found:
            if p is not q:
                p.v += q.x
    return found


def frozen(n: Any) -> Any:
    points = [Point(i, i * 2) for i in range(n)]
    total = Point(0, 0)
    for point in points:
        total = total + point
    return total, points, points.index(Point(1, 2)), Point(9, 9) in points


def slotted(n: Any) -> Any:
    found = [Slotted(i) for i in range(n)]
    for s in found:
        s.x *= 2
    return [s.x for s in found]


def exchanged(n: Any) -> Any:
    found = [Particle(1.0 * i) for i in range(n)]
    found[0], found[n - 1] = found[n - 1], found[0]
    found[0].x = 100.0
    return found


def in_order(n: Any) -> Any:
    found = [Particle(1.0 * ((i * 3) % 5)) for i in range(n)]
    found.sort(key=lambda p: p.x)
    for k, p in enumerate(found):
        p.v = 1.0 * k
    return found, [p.v for p in found if p.x > 1]


def the_greatest(n: Any) -> Any:
    found = [Particle(1.0 * ((i * 3) % 5)) for i in range(n)]
    max(found, key=lambda p: p.x).v = 7.0
    least = min(found, key=lambda p: p.x)
    if n > 2:
        least.v -= 1
    return found, sorted(found, key=lambda p: -p.x)[0].x


def a_queue(n: Any) -> Any:
    queue = collections.deque([Particle(0.0, 1.0)])
    while len(queue) < n:
        p = queue.popleft()
        p.x += 1
        queue.append(p)
        queue.append(Particle(p.x * 2))
    return [p.x for p in queue]


def attribute_of_another(n: Any) -> Any:
    stack, total = Stack(), 0.0
    for i in range(n):
        stack.push(Particle(1.0 * i))
    while len(stack) > 0:
        p = stack.pop()
        total = total * 0.5 + p.x
        if p.x > 3:
            stack.push(Particle(p.x - 2.5))
    return total


class World:
    def __init__(self) -> None:
        self.balls: list[Any] = []
        self.time = 0.0

    def add(self, ball: Any) -> None:
        self.balls.append(ball)

    def step(self, dt: float) -> None:
        for ball in self.balls:
            ball.x = ball.x + ball.v * dt
            if ball.x.x > 2.0:
                ball.v = ball.v * -1.0
        self.time += dt


@dataclass
class Vector:
    x: Any
    y: Any

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, factor: Any) -> Vector:
        return Vector(self.x * factor, self.y * factor)


def objects_in_objects(n: Any) -> Any:
    world = World()
    for i in range(n):
        world.add(Ball(Vector(1.0 * i, 0.0), Vector(1.0, 0.0)))
    for _ in range(3):
        world.step(0.5)
    return [b.x for b in world.balls], world.time


@dataclass
class Order:
    number: Any
    size: Any
    price: Any
    filled: Any = 0


class Book:
    """Orders to buy and to sell, in lists of their own."""

    def __init__(self) -> None:
        self.bids: list[Order] = []
        self.asks: list[Order] = []

    def add(self, order: Order, buys: Any) -> None:
        if buys:
            self.bids.append(order)
        else:
            self.asks.append(order)

    def match(self) -> Any:
        traded = 0
        for bid in self.bids:
            for ask in self.asks:
                if bid.price >= ask.price and bid.size > bid.filled and ask.size > ask.filled:
                    size = min(bid.size - bid.filled, ask.size - ask.filled)
                    bid.filled += size
                    ask.filled += size
                    traded += size
        return traded


def order_book(n: Any) -> Any:
    book = Book()
    for i in range(n):
        book.add(Order(i, 3 + i % 4, 1.0 * ((i * 7) % 11)), i % 2 == 0)
    return book.match(), book.bids, book.asks


def round_robin(n: Any) -> Any:
    """Jobs wait in turn; which list gets a job is known only after it has changed."""
    waiting = collections.deque()
    for i in range(n):
        waiting.append(Order(i, 2 + i % 3, 0.0))
    time, done = 0, []
    while waiting:
        job = waiting.popleft()
        time += 1
        job.filled += 1
        if job.filled < job.size:
            waiting.append(job)
        else:
            job.price = 1.0 * time
            done.append(job)
    return done


class Inventory:
    def __init__(self) -> None:
        self.items: dict[Any, Any] = {}

    def add(self, number: Any, count: Any, price: Any) -> None:
        if number in self.items:
            self.items[number]["count"] += count
        else:
            self.items[number] = {"count": count, "price": price}

    def remove(self, number: Any, count: Any) -> Any:
        item = self.items.get(number)
        if item is None or item["count"] < count:
            return False
        item["count"] -= count
        if item["count"] == 0:
            del self.items[number]
        return True


def inventory(n: Any) -> Any:
    stock, taken = Inventory(), 0
    for i in range(n):
        stock.add(i % 3, i + 1, 1.5 * (i % 3 + 1))
    for i in range(n):
        if stock.remove(i % 4, 2):
            taken += 1
    return taken, stock.items


def got_or_put(n: Any) -> Any:
    found = {}
    for i in range(n):
        ball = found.get(i % 3)
        if ball is None:
            found[i % 3] = ball = Ball(1.0 * i, 0.5)
        ball.x += i
        if ball.x > 3:
            ball.bounces.append(i)
    return [(b.x, b.bounces) for b in found.values()]


@dataclass(order=True)
class Task:
    urgency: Any
    cost: Any = field(compare=False)


def by_their_order(n: Any) -> Any:
    tasks = [Task((i * 7) % 5, i) for i in range(n)]
    heap: list[Any] = []
    for i in range(n):
        heapq.heappush(heap, Task((i * 3) % 4, i))
    tasks.sort(reverse=True)
    return tasks, max(tasks).urgency, heapq.heappop(heap).urgency, [t.cost for t in sorted(heap)][0]


def copies(n: Any) -> Any:
    found = [Particle(1.0 * i) for i in range(n)]
    other = copy.copy(found[0])
    other.x = 9.0
    found.append(other)
    return found, other.x


def compared(n: Any) -> Any:
    found = [Particle(1.0 * i) for i in range(n)]
    first, last, same = found[0], found[-1], 0
    for p in found:
        if p is last:
            same += 1
    answers = first is last, last is found[n - 2], last is found[n - 1], first is found[0], first is found[-n]
    gone, other = found.pop(), found.pop()
    return same, answers, gone is other, gone == other


PROGRAMS = [
    methods_change_them, appended_one_by_one, values_of_a_dict, made_where_missing, default_factory, got_from_a_dict,
    binary_tree, text_none_and_lists, pairs_of_them, frozen, slotted, exchanged, in_order, the_greatest, a_queue,
    attribute_of_another, objects_in_objects, order_book, round_robin, inventory, got_or_put, by_their_order,
    copies, compared]


@executors
@pytest.mark.parametrize("fn", PROGRAMS)
def test_objects_as_elements(fn: Callable[[Any], Any], executor: str) -> None:
    check_sizes(fn, executor, 5, 2)


def rebound_and_compared(n: Any) -> Any:
    found = [Particle(1.0 * ((i * 3) % 5)) for i in range(n)]
    best = Particle(-1.0)
    for p in found:
        if p.x > best.x:
            best = p
    return best is found[0]


@executors
def test_which_element_a_name_has(executor: str) -> None:
    check_sizes(rebound_and_compared, executor, 3, 1)


def of_two_classes(n: Any) -> Any:
    found = []
    for i in range(n):
        found.append(Particle(1.0 * i))
        found.append(Point(i, i))
    return found


def without_a_field(n: Any) -> Any:
    found = [Particle(1.0 * i) for i in range(n)]
    found[0].charge = 2.0
    return found


def sorted_by_themselves(n: Any) -> Any:
    return sorted([Slotted(i) for i in range(n)])


def as_a_tensor(n: Any) -> Any:
    return rt.convert_to_tensor([Slotted(i) for i in range(n)])


def array_by_a_name(n: Any) -> Any:
    found = []
    for i in range(n):
        found.append(Particle(np.zeros(2), i))
    for p in found:
        x = p.x
        x[0] = 5.0
    return found


def array_in_a_tuple(n: Any) -> Any:
    found = []
    for i in range(n):
        found.append((i, np.zeros(2)))
    for _, x in found:
        x[0] = 5.0
    return found


def array_in_its_place(n: Any) -> Any:
    found = []
    for _ in range(n):
        found.append({"x": np.zeros(2)})
    for p in found:
        p["x"][0] = 5.0
    return found


def text_of_them(n: Any) -> Any:
    return f"{[Particle(1.0 * i) for i in range(n)]}"


@pytest.mark.parametrize(("fn", "what"), [
    (without_a_field, "an object of Particle with an attribute 'charge', which is no field of that class"),
    (as_a_tensor, "a list of elements that contain a Slotted is no tensor"),
    (array_by_a_name, "an array is changed here by a name of its own that is part of an element of a list or dict"),
    (array_in_a_tuple, "an array is changed here by a name of its own that is part of an element of a list or dict"),
    (array_in_its_place, "is changed after it was read from another list here"),
    (text_of_them, "the text of a list is asked for whose elements are objects of Particle"),
])
def test_refused(fn: Callable[[Any], Any], what: str) -> None:
    check_refused(fn, what)


def test_objects_without_an_order_do_not_sort() -> None:
    with pytest.raises(TypeError, match="'<' not supported between instances of 'Slotted' and 'Slotted'"):
        rt.function(sorted_by_themselves)(rt.constant(3))


def test_gradients_flow_through_attributes() -> None:
    def f(x: Any, n: Any) -> Any:
        found = [Particle(x * i, x) for i in range(n)]
        for p in found:
            p.x += p.v * p.v
        return sum(p.x for p in found)

    x = rt.constant(3.0)
    with rt.GradientTape() as tape:
        tape.watch(x)
        y = rt.function(f)(x, rt.constant(4))
    assert float(y) == 6 * 3.0 + 4 * 9.0
    assert float(tape.gradient(y, x)) == 6 + 4 * 2 * 3.0
