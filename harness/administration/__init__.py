"""Kafka's own administration, asked for by hand or by a scenario: elections, voters, reassignments."""
