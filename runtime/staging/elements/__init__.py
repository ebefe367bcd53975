"""The specs of values, and in which tensors the elements of staged containers are stored."""
