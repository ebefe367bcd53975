"""From a graph to machine code that CPython calls, and its cache."""
