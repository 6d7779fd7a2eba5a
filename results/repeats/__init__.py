"""Repetitions of the same thing: confidence intervals of rates, and verdicts that differ.

The store lists flakes with it, and comparisons of rates use its intervals.
"""
