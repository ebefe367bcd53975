"""What every part needs: types, ops, graphs, tensors, tracing, errors, settings."""
