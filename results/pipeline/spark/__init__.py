"""Spark: Java, sessions, hosts, progress."""
