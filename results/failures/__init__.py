"""Failures over many runs: signatures, which of them are new in a night, and how often one recurs."""
