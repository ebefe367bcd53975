"""Single values of staged code: lists, iterators, text, what may be unbound or None."""
