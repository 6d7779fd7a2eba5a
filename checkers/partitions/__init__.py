"""The checker of partitions: the metadata log, acknowledgements and answers of brokers fit together.

Evidence is the metadata log that reaches farthest, record by record, topics of Kafka's own included.

1. After each record the leader is in the ISR, the ISR within the replicas and apart from the ELR, and there
   is no ELR beside an ISR of ``min.insync.replicas`` (`states`).  A change changes something, is about a
   partition that is there, and says where an election was unclean.
2. Epochs and blocks of producers' ids grow (`counters`).
3. What was sent while too few replicas were in sync, or while one of them was down, is neither acknowledged
   nor returned before that is over (`zones`, `acknowledged`).
"""

from collections import Counter
from collections.abc import Iterator

from checkers.columns import NEVER
from checkers.history import History
from checkers.licences.scene import Scene
from checkers.loading import columns_of
from checkers.metadata_log import MetadataLog, append_times, farthest
from checkers.partitions.acknowledged import Found, Records
from checkers.partitions.kinds import (
    ACKED_BELOW_MIN_ISR,
    ACKED_WITHOUT_MEMBER,
    ANOMALIES,
    READ_WITHOUT_MEMBER,
)
from checkers.partitions.walk import Walk
from checkers.partitions.zones import Zone, below_min_isr, member_down
from checkers.replicas.committed import meant_by
from checkers.replicas.observed import EVIDENCE_METADATA
from checkers.sources import Source, lacking
from checkers.verdict import CheckerResult, result_of

__all__ = ["ANOMALIES", "check_partitions"]

CHECKER = "partitions"
"""The checker's name."""
_NS_PER_S = 1_000_000_000


def check_partitions(history: History) -> CheckerResult:
    """Judge what the metadata log says of partitions, and what was done to them meanwhile.

    Unknown where a log was to be gathered and none could be read, or where it lacks its beginning or its end.

    Raises:
        msgspec.ValidationError: an operation, or a record of the log, is not as docs/histories.md says.
    """
    walk, blamed = Walk(history), _Blamed(history)
    counts = Counter(anomaly.id for anomaly in walk.found)
    for found in blamed.found:
        counts[found.kind.id] += found.number
    doubts = [doubt for doubt in (_doubt(history), blamed.doubt) if doubt is not None]
    return result_of(
        CHECKER,
        [*walk.found, *(anomaly for found in blamed.found for anomaly in found.anomalies)],
        counts=dict(+counts),
        figures=walk.figures | blamed.figures,
        unknown_because="; ".join(doubts) or None,
        exercised=walk.figures["states"] > 0,
    )


def _doubt(history: History) -> str | None:
    """Why not all that the metadata log had can be judged."""
    log = farthest(history)
    if log is None:
        meant = EVIDENCE_METADATA in meant_by(history).evidence
        return "no metadata log that could be read tells how partitions stood" if meant else None
    if log.seen.log_start:
        return f"the metadata log begins at offset {log.seen.log_start}: what stood before it is not judged"
    if append_times(history).complete_until_ns(log) != NEVER:
        return (
            f"leaders told of more records than any metadata log that could be read, which ends at {log.end}"
        )
    return lacking(history, Source.DISKS)


class _Blamed:
    """Acknowledgements and reads that the states of partitions forbid."""

    def __init__(self, history: History) -> None:
        self.doubt = lacking(
            history, Source.CLIENTS, Source.FAULTS, Source.NODES, Source.PARTITIONS, Source.QUORUM
        )
        self.found: list[Found] = []
        self.figures: dict[str, float] = {}
        log = farthest(history)
        if log is not None and self.doubt is None:
            self._judge(Scene(history), log)

    def _judge(self, scene: Scene, log: MetadataLog) -> None:
        # It tells everything until it was read, or until leaders had more.
        end_ns = min(int(log.operation.value["began_ns"]), scene.changes.complete_until_ns)
        # Where it begins later, values of configs may stand before it.
        below = [] if log.seen.log_start else list(below_min_isr(scene, end_ns))
        down = list(member_down(scene, end_ns))
        records = Records(columns_of(scene.history), log.operation.index)
        self.figures = records.figures | {
            "below_min_isr_s": _seconds(below),
            "member_of_isr_down_s": _seconds(down),
        }
        self.found += self._in(below, down, records)

    def _in(self, below: list[Zone], down: list[Zone], records: Records) -> Iterator[Found]:
        for zone in below:
            yield records.acknowledged_in(ACKED_BELOW_MIN_ISR, zone)
        for zone in down:
            yield records.acknowledged_in(ACKED_WITHOUT_MEMBER, zone)
            yield records.returned_in(READ_WITHOUT_MEMBER, zone)


def _seconds(zones: list[Zone]) -> float:
    """How long zones last together, those of one time in several partitions counted for each."""
    return round(sum(zone.to_ns - zone.from_ns for zone in zones) / _NS_PER_S, 1)
