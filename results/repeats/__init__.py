"""Repeated runs: confidence intervals of rates, and flakes."""
