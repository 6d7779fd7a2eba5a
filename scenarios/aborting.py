"""Transactions that are aborted within a run because they timed out."""

OFTEN_ABORTED = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}
"""Settings of brokers: coordinators look every second for transactions that timed out, not every ten."""
