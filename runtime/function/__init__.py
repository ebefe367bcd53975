"""`@function`: signatures, traces and results; variables and the objects that own them."""
