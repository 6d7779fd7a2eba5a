"""Failures over many runs: their signatures, which are new in a night, and how often one returns.

`krucible signatures`, `krucible replay` and the run browser use it.
"""
