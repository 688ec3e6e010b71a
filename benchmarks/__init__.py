"""Measurements, one a module: ``python -m benchmarks.NAME``, or all of them: ``make benchmarks``.

Timings depend on the machine, so none of this is a test. Ratios are taken side by side in one run.
"""
