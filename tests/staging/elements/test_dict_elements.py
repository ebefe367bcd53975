"""Dicts as elements of lists and dicts of the graph: what is changed in one is changed wherever Python has it, or the
change is refused."""
from __future__ import annotations

import collections
import copy
import itertools
import linecache
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import plain

START = """def f(n):
    t = [{'a': i} for i in range(n)]
    d = {i: {'a': i} for i in range(n)}
"""
END = "    return t, d\n"

WORK = [
    "t[-1]['a'] = d[0]['a'] = 7",
    "for k in d: d[k]['a'] = k + 5",
    "for v in d.values(): v['a'] += 1",
    "for k, v in d.items(): v['a'] += k",
    "for i, v in enumerate(d.values()): v['a'] += i",
    "for u, v in zip(t, d.values()): u['a'] += v['a'] + 1",
    "for v in reversed(t): v['a'] += 1",
    "d.setdefault(n, {'a': 3})['a'] += 1",
    "def g(r): r['a'] = 9\ng(t[n - 1])\ng(d[n - 1])",
    "t[0], t[1] = t[1], t[0]\nt[0]['a'] = 7",
    "r = t.pop()\nr['a'] = 8\nt.append(r)",
    "d[0] = dict(d[1])\nd[0]['a'] = 9",
    "x = max(d, key=lambda k: d[k]['a'])\nd[x]['a'] = 99",
]
MAY_BE_REFUSED = [
    "for r in t:\n    if r['a'] > 0: r['a'] = -1",
    "d.get(n - 1, {'a': 0})['a'] += 1",
    "x = {'a': 4}\nd.setdefault(n, x)\nx['a'] = 9",
    "x = {'a': 4}\nd.setdefault(n, x)['a'] = 9\nd[0]['a'] = x['a']",
    "x = {'a': 4}\nd.get(n, x)['a'] = 9\nd[0]['a'] = x['a']",
    "x = {'a': 4}\nd.pop(n, x)['a'] = 9\nd[0]['a'] = x['a']",
    "d.setdefault(n, t[0])['a'] = 9",
    "d.get(0, t[0])['a'] = 9",
    "u = d.copy()\nu[1]['a'] = 7",
    "u = copy.copy(d)\nu[1]['a'] = 7",
    "u = d | {0: {'a': 5}}\nu[1]['a'] = 7",
    "u = list(d.values())\nu[0]['a'] = 7",
    "list(d.items())[0][1]['a'] = 7",
    "u = [*d.values()]\nu[0]['a'] = 7",
    "u = {**d}\nu[0]['a'] = 7",
    "u = t * 2\nu[0]['a'] = 7\nt.append(u[n])",
    "u = t[1:]\nu[0]['a'] = 7",
    "u = sorted(t, key=lambda r: -r['a'])\nu[0]['a'] = 7",
    "u = collections.deque(t)\nu[0]['a'] = 7",
    "u = [r for r in t if r['a'] > 0]\nu[0]['a'] = 7",
    "d[n] = d[0]\nd[0]['a'] = 7",
    "d[0] = t[0]\nt[0]['a'] = 9",
    "x = d[n - 1]\nd[n - 1] = {'a': 4}\nx['a'] = 7",
    "x = t[0]\nt.reverse()\nx['a'] = 7",
    "x = d[0] if n > 3 else d[1]\nx['a'] = 9",
    "x = None\nfor r in t:\n    if r['a'] == 1: x = r\nif x is not None: x['a'] = 9",
    "x = {'a': 1}\nfor i in range(n): d[i] = x\nd[0]['a'] = 9",
    "x = {'a': 1}\nfor i in range(n):\n    x['a'] = i\n    t.append(x)",
    "x, y = d[0], d[0]\nx['a'] = 9\nd[5] = {'a': y['a']}",
    "for v in list(d.values()): v['a'] += 1",
    "for v in itertools.chain(t, d.values()): v['a'] += 1",
    "max(d.values(), key=lambda v: v['a'])['a'] = 99",
    "x, *y = t\ny[0]['a'] = 9",
]


def function_of(statements: str) -> Any:
    text = START + "".join(f"    {line}\n" for line in statements.split("\n")) + END
    name = f"<{statements}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"collections": collections, "copy": copy, "itertools": itertools}
    exec(compile(text, name, "exec"), names)
    return names["f"]


@pytest.mark.parametrize("statements", [*WORK, *MAY_BE_REFUSED])
def test_changes_of_dicts_that_are_elements(statements: str) -> None:
    fn = function_of(statements)
    traced = rt.function(fn)
    for n in (3, 6):
        try:
            found = plain(traced(rt.constant(n)))
        except rt.errors.StagingError as error:
            assert statements in MAY_BE_REFUSED
            assert "is changed after it was" in str(error)
            assert n == 3, "of its only trace"
            break
        assert found == plain(fn(n))
    assert len(traced.concrete_functions) <= 1
