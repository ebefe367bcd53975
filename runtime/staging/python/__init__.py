"""Python's builtins, its `math`, and code in C or in libraries, with values of the graph."""
