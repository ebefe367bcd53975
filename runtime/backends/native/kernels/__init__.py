"""Lowerings of ops, by family."""
