"""Compaction that meets the topics that brokers keep for themselves within a run.

Their segments are of 1 MiB at least (KIP-1030), which no run fills, so that age has to close them.
"""

OFTEN_CLEANED = {
    "log.roll.ms": "4000",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.min.cleanable.ratio": "0.05",
}
"""Settings of brokers: logs without settings of their own are rolled by age, and cleaned once dirty."""
