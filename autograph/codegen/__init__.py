"""From the converted tree to code that replaces the user's."""
