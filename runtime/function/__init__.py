"""`@function`: traces, and the calls that run them."""
