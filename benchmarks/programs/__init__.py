"""Whole programs beside the peers and C: `python -m benchmarks peers`.

written.py     each program as users write it, in TF2's names, with its data and the same in NumPy
stencils.py    those of them whose elements depend on their neighbours
in_jax.py      the same for JAX, whose control flow is written by hand
programs.c     the same in C, which in_c.py builds and calls
steady.py      the time of a call
first_calls.py the time of the first call, in fresh processes
plot.py        the rows as a picture
"""
