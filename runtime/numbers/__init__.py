"""Python's ints and floats in graphs."""
