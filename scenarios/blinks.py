"""Blinks that drawn schedules have, by how often each is drawn."""

BLINKS = {"pause": 3, "link": 3, "isolate": 1, "lost-answers": 2, "held-requests": 1}
NONE_LATE = {name: weight for name, weight in BLINKS.items() if name != "held-requests"}
"""For transactions: a request that is held may come late, and by KAFKA-17754 late is harmful by design."""
