"""Complete programs, compared with peers and C: `python -m benchmarks peers`.

written.py     each program as users write it, with TF2's names, its data, and a NumPy version
stencils.py    the programs whose elements depend on their neighbours
in_jax.py      the programs for JAX, with control flow by hand
programs.c     the programs in C, which in_c.py builds and calls
steady.py      the time of a call
first_calls.py the time of the first call, in fresh processes
plot.py        a chart of the rows
"""
