"""Measures how many seeded bugs are found: which runs have which bug, and whether they saw it."""
