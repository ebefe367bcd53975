"""Arguments that contain themselves, or one container in several places."""
from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import runtime as rt


@dataclasses.dataclass
class Node:
    value: Any
    parent: Any = None
    children: list[Any] = dataclasses.field(default_factory=list)


def tree(value: Any) -> Node:
    root = Node(value)
    for k in range(3):
        root.children.append(Node(value * k, root))
    return root


def added(node, x):
    for child in node.children:
        child.value = child.value + x
        child.parent.value = child.parent.value + child.value
    return node.value


def linked(node, x):
    new = Node(x, node)
    node.children.append(new)
    return node.children[-1].parent is node, len(node.children) * x


def in_lists(items, x):
    items[0] = items[0] + x
    return items[1][1][0] * 2


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_a_tree_with_parents(executor: str) -> None:
    f, g = rt.function(added, executor=executor), rt.function(linked, executor=executor)
    mine, other = tree(rt.constant(1.0)), tree(1.0)
    for x in 1.0, 2.0:
        assert float(f(mine, rt.constant(x))) == added(other, x) == float(mine.value)
        assert [float(child.value) for child in mine.children] == [child.value for child in other.children]
        is_parent, count = g(mine, rt.constant(x))
        assert (is_parent, float(count)) == linked(other, x)
        assert all(child.parent is mine for child in mine.children)


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_a_list_in_itself(executor: str) -> None:
    f = rt.function(in_lists, executor=executor)
    for _ in range(2):
        items: list[Any] = [rt.constant(1.0)]
        items.append(items)
        for k in 1.0, 2.0:
            assert float(f(items, rt.constant(1.0))) == 2 * (1 + k)
        assert items[1] is items and len(items) == 2
    apart: list[Any] = [rt.constant(1.0), [rt.constant(5.0), [rt.constant(7.0)]]]
    assert float(f(apart, rt.constant(1.0))) == 14
    assert f.experimental_get_tracing_count() == 2


def test_it_is_returned() -> None:
    @rt.function
    def f(node, x):
        node.value = node.value + x
        return node, [node.children[1].parent, x]

    root = tree(rt.constant(1.0))
    found, (again, x) = f(root, rt.constant(2.0))
    assert found is again is root and float(root.value) == 3 and float(x) == 2


def test_concrete_functions_and_texts() -> None:
    f = rt.function(added)
    root = tree(rt.constant(1.0))
    concrete = f.get_concrete_function(root, rt.constant(1.0))
    assert "..." in concrete.pretty_printed_signature() and "..." in repr(concrete)
    assert float(concrete(root, rt.constant(1.0))) == float(root.value) == 1 + 1 + 2 + 3
    apart = tree(rt.constant(1.0))
    apart.children[1].parent = Node(rt.constant(1.0))
    with pytest.raises(rt.errors.InvalidArgumentError):
        concrete(apart, rt.constant(1.0))
    assert "traced 1 time" in f.explain()


def test_one_container_in_many_places_is_looked_at_once() -> None:
    @rt.function
    def f(items, x):
        items[0][0][1].append(x)
        return x

    deepest: list[Any] = [rt.constant(1.0)]
    nested: Any = deepest
    for _ in range(40):  # two to the power of forty ways lead to it
        nested = [nested, nested]
    top = [nested, nested]
    for count in 3, 4:
        f(top, rt.constant(1.0))
        assert len(top[0][0][1]) == count and top[0][0][1] is top[1][1][0]
