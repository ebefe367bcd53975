"""Code that holds each statement twice: as the user wrote it, and as operator calls."""
