"""The passes, each of which changes the tree of a function in place."""
