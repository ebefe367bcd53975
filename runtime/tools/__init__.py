"""The command line, and drawings of graphs."""
