"""Settings of brokers with which internal topics are compacted during a run.

Since KIP-1030 a segment has at least 1 MiB.  No run fills a segment of an internal topic, so segments must be
rolled by age.
"""

OFTEN_CLEANED = {
    "log.roll.ms": "4000",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.min.cleanable.ratio": "0.05",
}
"""Logs of topics without such configs are rolled after 4 s, and cleaned as soon as 5 % of a log is dirty."""
