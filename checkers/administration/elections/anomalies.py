"""What the election checker can find."""

from checkers.verdict.kinds import AnomalyKind, by_id

UNLICENSED = AnomalyKind(
    id="unclean-election-unlicensed",
    meaning="A replica that was neither in sync nor eligible became leader, and nobody had allowed that.",
    guarantee="Only a replica in sync, or an eligible one, leads unless a config or a request allows others.",
    source="KIP-460; KIP-704; KIP-966; unclean.leader.election.enable in Kafka's documentation",
)
CONTRADICTION = AnomalyKind(
    id="election-contradicts-state",
    meaning="What an election was answered is not what the partition's states at that time allow.",
    guarantee="Success means that a leader was elected; a preferred leader is not replaced, nor any leader "
    "by an unclean election; an election is refused only where there is nobody to elect.",
    source="KIP-460; Kafka's ReplicationControlManager.electLeader",
)

WITHHELD = AnomalyKind(
    id="election-withheld",
    meaning="A partition that permits unclean elections had no leader while a broker with a replica was up.",
    guarantee="With unclean.leader.election.enable any replica that is up leads where no better one is.",
    source="Kafka documentation, unclean.leader.election.enable; KAFKA-12670, fixed in 3.9.0",
)

ANOMALIES = by_id(UNLICENSED, CONTRADICTION, WITHHELD)
"""All of them by id."""
