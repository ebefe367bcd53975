"""`@function`: signatures, traces, results; variables and the objects that own them."""
