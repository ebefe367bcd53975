"""From the converted tree to code that runs in the user's place."""
