"""Checkers of partitions: records that clients read, logs on disk, leaders, and where logs begin and end."""
