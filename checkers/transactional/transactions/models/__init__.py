"""Consistency models, and the anomalies that each of them forbids."""
