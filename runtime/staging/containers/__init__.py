"""Python's lists, tuples and dicts with values of the graph."""
