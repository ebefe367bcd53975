"""Transformations of loops: lanes, blocks, several steps at once."""
