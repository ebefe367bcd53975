"""Text from trees, with the user's comments."""
