"""Executors of graphs. `numpy` is the reference, which defines the meaning of graphs."""
