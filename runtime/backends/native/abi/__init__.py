"""What native code takes from outside: Python, signals, memory, threads, BLAS."""
