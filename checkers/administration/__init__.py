"""Checkers of admin operations: elections, reassignments, and what the cluster says of itself."""
