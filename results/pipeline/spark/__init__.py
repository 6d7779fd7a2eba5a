"""Spark itself: Java, sessions, hosts, and how far it has come."""
