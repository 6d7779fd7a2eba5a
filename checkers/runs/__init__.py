"""Checkers of the run itself: completeness, faults, nodes, and recovery."""
