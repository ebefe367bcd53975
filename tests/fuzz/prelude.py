"""What every program begins with, and the arguments that it is called with."""
from __future__ import annotations

from ways import Double

__all__ = ["ARGUMENTS", "ERRORS", "HANDLED", "PRELUDE"]

ARGUMENTS: tuple[tuple[int, int, Double, list[int]], ...] = (
    (3, -2, Double(0.5), [4, 7, 1]), (0, 5, Double(-1.3), [2, -3, 8, 5, 6]), (12, 1, Double(2.1), [0]),
)
PRELUDE = '''\
import contextlib

total = 0


class Box:
    def __init__(self, v):
        self.v = v
        self.items = [1, 2]

    def grow(self, by):
        if by > 0:
            self.v = (self.v + by) % 50
        return self.v


class Guard:
    def __init__(self, name, quiet):
        self.name, self.quiet = name, quiet

    def __enter__(self):
        print('enter', self.name)
        return len(self.name)

    def __exit__(self, kind, value, traceback):
        print('exit', self.name, kind and kind.__name__)
        return self.quiet


def note(k, value):
    print('note', k, value)
    return value


def clip(x, low=-5, *, high=20):
    if x < low:
        return low
    while x > high:
        x -= max(7, x // 2)
    return x


def run(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value

'''
ERRORS = ("ValueError", "KeyError", "IndexError")
HANDLED = ("ValueError", "(KeyError, IndexError)", "Exception", "NameError", "TypeError", "LookupError")
