"""Python's builtins, its `math`, and C and library code, called with graph values."""
