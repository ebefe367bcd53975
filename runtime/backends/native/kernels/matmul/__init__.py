"""Lowerings of matrix products, and of what is solved with matrices."""
