"""The checker of partitions: what the metadata log says of them is what Kafka's controllers may write.

Evidence is the metadata log that reaches farthest, record by record, topics of Kafka's own included.

1. After each record the leader is in the ISR, the ISR within the replicas and apart from the ELR, and there
   is no ELR beside an ISR of ``min.insync.replicas`` (`states`).
2. A change changes something, is about a partition that is there, and says where an election was unclean.
3. Epochs and blocks of producers' ids grow (`counters`).
"""

from checkers.columns import NEVER
from checkers.history import History
from checkers.kinds import AnomalyKind
from checkers.metadata_log import append_times, farthest
from checkers.min_isr import CONFIG_RECORD, min_isr_of
from checkers.partition_changes import PartitionState, Replay, Step
from checkers.partitions.counters import Counters
from checkers.partitions.kinds import ANOMALIES, CHANGE_OF_NOTHING, EPOCH_WENT_BACK
from checkers.partitions.states import broken_by
from checkers.replicas.committed import meant_by
from checkers.replicas.observed import EVIDENCE_METADATA, MetadataRecord
from checkers.sources import Source, lacking
from checkers.verdict import Anomaly, CheckerResult, result_of

__all__ = ["ANOMALIES", "check_partitions"]

CHECKER = "partitions"
"""The checker's name."""


def check_partitions(history: History) -> CheckerResult:
    """Judge what the metadata log says of partitions.

    Unknown where a log was to be gathered and none could be read, or where it lacks its beginning or its end.

    Raises:
        msgspec.ValidationError: an observation, or a record of the log, is not as docs/histories.md says.
    """
    walk = _Walk(history)
    return result_of(CHECKER, walk.found, figures=walk.figures, unknown_because=_doubt(history))


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


class _Walk:
    """Walks through the metadata log, and notes what is broken."""

    def __init__(self, history: History) -> None:
        self.found: list[Anomaly] = []
        self.figures = dict.fromkeys(("records", "states", "states_of_internal_topics", "epochs"), 0)
        self._log, self._times = farthest(history), append_times(history)
        self._needed, self._counters = min_isr_of(history), Counters()
        if self._log is not None:
            replay = Replay(self._log.seen)
            for record in self._log.seen.records:
                self._take(record, replay)

    def _take(self, record: MetadataRecord, replay: Replay) -> None:
        _, _, kind, data = record
        self.figures["records"] += 1
        if kind == CONFIG_RECORD:
            self._needed.take(data)
        for subject, text in self._counters.take(kind, data):
            self._add(EPOCH_WENT_BACK, subject, record, text)
        self.figures["epochs"] = self._counters.seen
        for step in replay.take(record):
            self._judge(step)

    def _judge(self, step: Step) -> None:
        self.figures["states"] += 1
        self.figures["states_of_internal_topics"] += step.partition.topic.startswith("__")
        for kind, text in broken_by(step, self._needed.of(step.partition.topic)):
            if kind is not CHANGE_OF_NOTHING or not self._from_within:
                self._add(kind, str(step.partition), step.record, text, step.before, step.after)

    @property
    def _from_within(self) -> bool:
        """Whether the log does not begin where the cluster did, so that it lacks what made a partition."""
        return self._log is None or bool(self._log.seen.log_start)

    def _add(
        self,
        kind: AnomalyKind,
        subject: str,
        record: MetadataRecord,
        text: str,
        *states: PartitionState | None,
    ) -> None:
        offset, epoch, name, data = record
        span = self._times.span(offset, epoch)
        self.found.append(
            kind.found(
                f"Offset {offset} of the metadata log, {name}, breaks what holds of {subject}: {text}.",
                subject=subject,
                time_ns=None if span.to_ns == NEVER else span.to_ns,
                witness=() if self._log is None else (self._log.operation.index,),
                explanation=[
                    f"The record is {data}.",
                    *(str(state) for state in states if state is not None),
                ],
            )
        )
