"""The costs of conversion, tracing, calls and imports, compared with installed peers.

    python -m benchmarks                    all groups
    python -m benchmarks conversion calls   some groups
    python -m benchmarks --json             machine-readable output

Figures are medians. Those of one row are measured alternately in one run, so that ratios are reliable on a noisy
machine, too.
"""
