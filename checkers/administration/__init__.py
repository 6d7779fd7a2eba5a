"""Checkers of admin operations: elections, reassignments, and descriptions of transactions."""
