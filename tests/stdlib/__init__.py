"""The standard library as the measure: CPython's own tests on converted modules.

`python -m tests.stdlib` runs them all and writes docs/stdlib.md; `tests/test_stdlib.py` runs a selection.

    modules.py      which modules, and which of CPython's tests are theirs
    in_place.py     converts all functions of a module, in place
    child.py        one module's tests in a process of their own; writes the outcomes as JSON
    compare.py      runs a child unconverted and one converted, and compares test by test
    page.py         what was found, as docs/stdlib.md
    rate.py         converts every function of the standard library that has source
"""
