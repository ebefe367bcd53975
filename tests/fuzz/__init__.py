"""Random programs, run every way, compared with Python.

    python -m tests.fuzz 10000 --seed 1

`generate` writes a program from a seed, `compare` runs it every way and tells the first difference, and `shrink`
makes a program that fails small. What was found that way is kept in `programs/regressions.py`.

    python -m tests.fuzz --numeric 10000 --seed 1

runs numeric programs (`numeric_programs`, `numeric_values`) on the native and the reference executor. `numeric`
compares bits, and asks `perturbed` whether rounding explains a difference.

    python -m tests.fuzz --sizes 100000 --seed 1

runs ops with hostile sizes, counts, axes and indices (`size_programs`, `sizes`) in all three ways, between guard pages.
"""
