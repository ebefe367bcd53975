"""Values of staged code: joining, selecting, flattening and iterating over them."""
