"""Python's builtins, its `math`, and C and library code, with values of the graph."""
