"""Walks through the metadata log that reaches farthest, record by record, and notes what is broken."""

from checkers.columns import NEVER
from checkers.history import History
from checkers.kinds import AnomalyKind
from checkers.metadata_log import MetadataLog, append_times, farthest
from checkers.metadata_whole import thinned_logs
from checkers.min_isr import CONFIG_RECORD, min_isr_of
from checkers.partition_changes import REMOVED, PartitionState, Replay, Step
from checkers.partitions.counters import Counters
from checkers.partitions.kinds import CHANGE_OF_NOTHING, EPOCH_WENT_BACK
from checkers.partitions.states import broken_by
from checkers.replicas.observed import MetadataRecord
from checkers.verdict import Anomaly


class Walk:
    """What is broken in a metadata log, and how much of it there was.

    Args:
        history: as `checkers.reading.read_history` returns it.

    Attributes:
        found: the anomalies, in the order of the log.
        figures: how many records, states and epochs were judged.

    Raises:
        msgspec.ValidationError: an observation, or a record of the log, is not as docs/histories.md says.
    """

    def __init__(self, history: History) -> None:
        self.found: list[Anomaly] = []
        self.figures = dict.fromkeys(("records", "states", "states_of_internal_topics", "epochs"), 0)
        self._log, self._times = farthest(history), append_times(history)
        self._needed, self._counters = min_isr_of(history), Counters()
        self._is_whole = self._log is not None and _is_whole(history, self._log)
        if self._log is not None:
            replay = Replay(self._log.seen)
            for record in self._log.seen.records:
                self._take(record, replay)

    def _take(self, record: MetadataRecord, replay: Replay) -> None:
        _, _, kind, data = record
        self.figures["records"] += 1
        if kind == CONFIG_RECORD:
            self._needed.take(data)
        if kind == REMOVED:
            self._needed.forget(replay.name_of(data["topicId"]))
        for subject, text in self._counters.take(kind, data):
            self._add(EPOCH_WENT_BACK, subject, record, text)
        self.figures["epochs"] = self._counters.seen
        for step in replay.take(record):
            self._judge(step)

    def _judge(self, step: Step) -> None:
        self.figures["states"] += 1
        self.figures["states_of_internal_topics"] += step.partition.topic.startswith("__")
        for kind, text in broken_by(step, self._needed.of(step.partition.topic)):
            if kind is not CHANGE_OF_NOTHING or self._is_whole:
                self._add(kind, str(step.partition), step.record, text, step.before, step.after)

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


def _is_whole(history: History, log: MetadataLog) -> bool:
    """Whether a log begins where the cluster did and lacks no record, so that it has what made a partition.

    The first record of all is that of the first leader.
    """
    records = log.seen.records
    within = bool(log.seen.log_start) or not records or records[0][0] > 0
    return not within and log.operation.index not in thinned_logs(history)
