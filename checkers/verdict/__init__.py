"""Anomalies, results of checkers, and verdicts."""
