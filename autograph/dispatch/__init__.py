"""Calls from converted code: which callees convert, and how they are called."""
