"""A module with state of its own, for conversion/state/test_reachability.py."""
from __future__ import annotations


class Config:
    level = 0

    def __init__(self):
        self.depth = 0
        self.name = "new"
        self.part = None

    def rename(self, name):
        self.name = name

    def give(self, part):
        self.part = part


N = 0
ITEMS = [1]
TABLE = {"a": 0}
config = Config()


def reset():
    global N, ITEMS, config
    N, ITEMS, config = 0, [1], Config()
    TABLE["a"] = Config.level = 0


def add(k):
    global N
    N = N + k


def append(k):
    ITEMS.append(k)


def set_item(k):
    TABLE["a"] += k


def set_class(k):
    Config.level += k


def set_depth(k):
    config.depth += k
