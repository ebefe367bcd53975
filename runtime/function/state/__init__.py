"""State from before a call: what a trace may read of it, and what it changes there."""
