"""Blinks of random schedules: how often each kind is drawn."""

BLINKS = {"pause": 3, "link": 3, "isolate": 1, "lost-answers": 2, "held-requests": 1}
NONE_LATE = {name: weight for name, weight in BLINKS.items() if name != "held-requests"}
"""For schedules with transactions.  A held request may arrive during the next transaction of its producer,
which coordinators can't detect before the second part of KIP-890 (KAFKA-17754)."""
