"""Bugs that Kafka really had, each red on a version that has it and green on the one that fixed it."""
