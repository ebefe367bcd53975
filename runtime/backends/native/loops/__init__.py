"""Loop transformations: SPMD lanes, register tiles, time skewing, batching, speculation."""
