"""Repetitions of the same thing: confidence intervals of rates, and verdicts that differ.

The store lists flakes with it, and whatever compares rates uses its intervals.
"""
