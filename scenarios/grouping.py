"""Settings of brokers, and weights of gambits, that scenarios with consumer groups share."""

from collections.abc import Mapping

GROUP_GAMBITS: Mapping[str, int] = {
    "group-coordinator": 6,
    "all-copies": 1,
    "held-follower": 1,
    "cut-off-leader": 1,
    "lost-answers": 2,
    "flapping": 1,
    "rolling-bounce": 1,
    "isr-and-controller": 1,
}
"""How often each gambit is drawn while members consume; most of them make a coordinator fail."""
STATIC_GAMBITS = {**GROUP_GAMBITS, "member-away": 4}
"""The same for groups of KIP-848's protocol that have static members."""
GROUP_BROKERS = {"offsets.topic.num.partitions": "6", "min.insync.replicas": "2"}
"""``__consumer_offsets`` has few partitions, and a commit is acknowledged once two replicas have it."""
SHORT_SESSIONS = {
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
}
"""Sessions of KIP-848's protocol are short enough to expire during a run, as those of classic members."""
