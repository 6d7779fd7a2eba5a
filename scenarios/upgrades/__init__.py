"""Clusters whose nodes change their version of Kafka under load; docs/upgrades.md says how."""
