"""Promises of Kafka's improvement proposals, each tested where it is hardest to keep."""
