"""The foundation of the runtime: types, ops, graphs, tensors, tracing, errors, settings."""
