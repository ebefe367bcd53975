"""`if`, loops and `try` that become ops of the graph."""
