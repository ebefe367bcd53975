"""The native executor: a traced graph as one native function, through LLVM."""
