"""Elementary functions, vectorised."""
