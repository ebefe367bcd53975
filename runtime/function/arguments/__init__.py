"""The arguments of traced functions: their structure, signature, and when they are traced again."""
