"""The conversion passes: each changes the tree of a function in place."""
