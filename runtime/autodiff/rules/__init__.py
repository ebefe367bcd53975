"""The derivatives of ops, one module for each family."""
