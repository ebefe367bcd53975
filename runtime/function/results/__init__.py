"""Results of traced functions: from the outputs of the graph to Python objects."""
