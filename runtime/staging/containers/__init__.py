"""Python's lists, tuples and dicts with graph values in them, as indices or as keys."""
