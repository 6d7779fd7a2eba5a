"""Measures how many seeded bugs are found: plans runs with each bug, and reads their results."""
