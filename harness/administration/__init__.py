"""Kafka's own administration, requested by hand or by a scenario: elections, voters, reassignments."""
