"""Shared foundations: the protocol of backends, errors, the conversion allowlist, tracebacks."""
