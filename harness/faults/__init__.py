"""Faults: injected, proven to have taken effect, healed, proven to be healed."""
