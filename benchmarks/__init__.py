"""What conversion, tracing, calls and imports cost, beside the peers that are installed.

    python -m benchmarks                    all groups
    python -m benchmarks conversion calls   some
    python -m benchmarks --json             for programs

Figures are medians. Those of one row are measured in turns in one run, so the ratios hold on a noisy machine, too.
"""
