"""Promises of Kafka's improvement proposals, each tried where it is hardest to keep."""
