"""Findings: the page that holds them, and each of them as a ticket for Kafka's JIRA."""
