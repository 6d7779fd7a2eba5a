"""Logs of the replicas of a partition, side by side as a table."""
