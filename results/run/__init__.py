"""One run: what its history and its verdict show, and texts that report it.

The texts are the last lines on the terminal, JUnit for CI, and an issue for a tracker. The report draws the
same measures and causes.
"""
