"""Disks that are replaced, emptied or lose power, and what is promised of each."""
