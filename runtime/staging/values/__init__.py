"""Values of staged code: how they are joined, chosen, flattened, iterated over."""
