"""Batching as a transformation of graphs (`tf.vectorized_map`, `jax.vmap`)."""
