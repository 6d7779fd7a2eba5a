"""Checkers of producers and of their transactions."""
