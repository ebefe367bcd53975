"""The executors that run graphs, and lists from what they return."""
