"""The anomalies of the election checker."""

from checkers.history.sources import Source
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import Needs

UNLICENSED = AnomalyKind(
    id="unclean-election-unlicensed",
    meaning="A replica that was neither in the ISR nor in the ELR became leader, and neither a "
    "config nor a request allowed it.",
    guarantee="Only a replica in the ISR or in the ELR is elected, unless a config or a request "
    "allows unclean elections.",
    source="KIP-460; KIP-704; KIP-966; unclean.leader.election.enable in Kafka's documentation",
)
CONTRADICTION = AnomalyKind(
    id="election-contradicts-state",
    meaning="The answer to an election request does not match the states that the partition had at "
    "that time.",
    guarantee="Success means that a leader was elected. An election does not replace the preferred "
    "leader. An unclean election replaces no leader. An election is refused only if no "
    "replica can be elected.",
    source="KIP-460; Kafka's ReplicationControlManager.electLeader",
)

WITHHELD = AnomalyKind(
    id="election-withheld",
    meaning="A partition that permits unclean elections had no leader while a broker with a replica was up.",
    guarantee="With unclean.leader.election.enable any live replica is elected if no replica of "
    "the ISR or ELR is available.",
    source="Kafka documentation, unclean.leader.election.enable; KAFKA-12670, fixed in 3.9.0",
)

ANOMALIES = by_id(UNLICENSED, CONTRADICTION, WITHHELD)
"""All anomalies by id."""
NEEDS = Needs((Source.ADMIN, Source.DISKS), {}, (Source.ADMIN, Source.FAULTS, Source.MOVES))
"""The journals that the checker's rules need."""
