"""What every part needs: the protocol of backends, errors, which code is left alone, tracebacks."""
