"""Reads and judges histories that other harnesses recorded."""
