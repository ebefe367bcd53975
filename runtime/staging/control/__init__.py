"""`if`, loops and `try` as ops of the graph."""
