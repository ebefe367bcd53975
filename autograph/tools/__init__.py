"""The command line, and packages converted as they are imported."""
