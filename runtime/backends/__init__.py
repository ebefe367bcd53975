"""Executors of graphs: `numpy` is the reference, the definition of what a graph means."""
