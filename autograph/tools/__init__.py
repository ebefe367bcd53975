"""The command line, and conversion of packages at import."""
