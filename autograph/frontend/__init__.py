"""From a function to the tree of its source."""
