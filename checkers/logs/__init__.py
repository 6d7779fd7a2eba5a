"""Checkers of partitions: records that clients read, logs on disk, leaders, and the bounds of logs."""
