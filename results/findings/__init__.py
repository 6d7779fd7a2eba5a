"""Findings: the page with all of them, and each finding as a ticket for Kafka's JIRA."""
