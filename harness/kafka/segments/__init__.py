"""Kafka's log files, read from a disk: folders, segments, record batches of format version 2."""
