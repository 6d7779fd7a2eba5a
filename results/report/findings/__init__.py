"""Anomalies that were found: cards with witnesses, sequences of causes, and pictures."""
