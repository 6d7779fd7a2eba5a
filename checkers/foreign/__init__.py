"""Histories that other harnesses recorded."""
