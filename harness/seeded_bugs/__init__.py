"""Bugs seeded into Kafka: what they are, how a node gets one, and what its log tells of it."""
