"""Checkers of the run itself: was it whole, were its faults real, did nodes live, did the cluster recover."""
