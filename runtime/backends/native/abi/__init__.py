"""The interfaces of native code to the outside: Python, signals, memory, threads, BLAS."""
