"""Differentiation as a transformation of graphs: rules of ops, and what applies them."""
