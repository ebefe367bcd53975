"""Which containers a name or an element may stand for, while bodies are traced."""
