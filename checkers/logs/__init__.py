"""Checkers of partitions: what clients read, what lies on disks, who leads, and where logs begin and end."""
