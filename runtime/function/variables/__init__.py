"""Variables, the objects that own them, and variables as arguments."""
