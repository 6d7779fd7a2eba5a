"""Measures and causes from the history and the verdict of one run, and texts about them.

The texts are the last lines on the terminal, JUnit for CI, and an issue for a tracker. The report uses the
same measures and causes.
"""
