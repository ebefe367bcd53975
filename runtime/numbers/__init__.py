"""Python's ints and floats in graphs: 64 bits, and overflow checks."""
