"""Reads the metadata log that reaches farthest, record by record, and collects violations.

Whether a broker may be chosen, get replicas or stay in sync is not judged in a log that lacks records, nor
after a record that could not be decoded, because such a record may have changed the broker's registration, or
its partitions.
"""

from checkers.columns.tables import NEVER
from checkers.evidence.faults import fault_windows
from checkers.evidence.metadata_log import MetadataLog, append_times, farthest
from checkers.evidence.metadata_whole import thinned_logs
from checkers.evidence.min_isr import CONFIG_RECORD, min_isr_of
from checkers.evidence.partition_changes import REMOVED, PartitionChange, PartitionReplay, PartitionState
from checkers.history.operations import History
from checkers.history.replicas import OPAQUE, MetadataRecord
from checkers.history.setup import setup_of
from checkers.logs.partitions.anomalies import (
    ASSIGNED_TO_CORDONED,
    ASSIGNED_TO_UNREGISTERED,
    CHANGE_OF_NOTHING,
    EPOCH_WENT_BACK,
    INACTIVE_CHOSEN,
    RESTATED,
    RETURN_WITHOUT_ELECTION,
    UNCLEAN_MEMBER,
)
from checkers.logs.partitions.cordons import Cordons
from checkers.logs.partitions.counters import Counters
from checkers.logs.partitions.registrations import Registrations, unfenced_by, written_with
from checkers.logs.partitions.returns import Returns
from checkers.logs.partitions.states import broken_by
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly


class Walk:
    """Violations in a metadata log, and numbers of what was judged.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Attributes:
        found: the anomalies, in the order of the log.
        figures: numbers of records, states and epochs that were judged.

    Raises:
        msgspec.ValidationError: an observation, or a record of the log, is not as docs/histories.md says.
    """

    def __init__(self, history: History) -> None:
        self.found: list[Anomaly] = []
        self.figures = dict.fromkeys(("records", "states", "states_of_internal_topics", "epochs"), 0)
        self._log, self._times = farthest(history), append_times(history)
        self._needed, self._counters = min_isr_of(history), Counters()
        self._registrations, self._cordons = _registrations(history), Cordons()
        self._returns = _returns(history)
        self._is_whole = self._log is not None and _is_whole(history, self._log)
        self._knows_brokers = True
        if self._log is not None:
            self._knows_brokers = self._log.operation.index not in thinned_logs(history)
            self._with_registration = written_with(self._log.seen.records)
            replay = PartitionReplay(self._log.seen)
            for record in self._log.seen.records:
                self._take(record, replay)
            self.figures["killed_brokers_back"] = self._registrations.judged
            self.figures["elections_by_returns"] = self._returns.judged

    def _take(self, record: MetadataRecord, replay: PartitionReplay) -> None:
        _, _, kind, data = record
        self.figures["records"] += 1
        for missed in self._returns.ended_by(record):
            text = f"broker {missed.broker} was unfenced, and was not elected although it may lead"
            self._add(RETURN_WITHOUT_ELECTION, str(missed.partition), missed.record, text, missed.state)
        if kind == CONFIG_RECORD:
            self._needed.take(data)
        if kind == REMOVED:
            self._needed.forget(replay.name_of(data["topicId"]))
        for subject, text in self._counters.take(kind, data):
            self._add(EPOCH_WENT_BACK, subject, record, text)
        self.figures["epochs"] = self._counters.seen
        back = self._registrations.take(kind, data, self._times.span(record.offset, record.epoch))
        self._knows_brokers = self._knows_brokers and kind != OPAQUE
        if back is not None and self._knows_brokers:
            text = f"the process of broker {back.broker} before this one was killed by {back.killed_by}"
            for partition, state in replay.held_by(back.broker):
                self._add(UNCLEAN_MEMBER, str(partition), record, text, state)
        self._cordons.take(kind, data)
        broker = unfenced_by(kind, data)
        if broker is not None and self._knows_brokers:
            eligible = self._registrations.eligible
            self._returns.begin(record, broker, replay.held_by(broker), eligible=eligible)
        for step in replay.take(record):
            self._judge(step)

    def _judge(self, step: PartitionChange) -> None:
        self.figures["states"] += 1
        self._returns.take(step)
        self.figures["states_of_internal_topics"] += step.partition.topic.startswith("__")
        if self._knows_brokers:
            self._judge_brokers(step)
        for kind, text in broken_by(step, self._needed.of(step.partition.topic)):
            if kind is RESTATED and self._is_repeated(step):
                continue
            if kind is not CHANGE_OF_NOTHING or self._is_whole:
                self._add(kind, str(step.partition), step.record, text, step.before, step.after)

    def _judge_brokers(self, step: PartitionChange) -> None:
        name, states = str(step.partition), (step.before, step.after)
        for text in self._registrations.wrongly_chosen(step):
            self._add(INACTIVE_CHOSEN, name, step.record, text, *states)
        for text in self._registrations.wrongly_assigned(step):
            self._add(ASSIGNED_TO_UNREGISTERED, name, step.record, text, *states)
        for text in self._cordons.wrongly_assigned(step):
            self._add(ASSIGNED_TO_CORDONED, name, step.record, text, *states)

    def _is_repeated(self, step: PartitionChange) -> bool:
        """Whether the same registration of a broker had already changed the partition."""
        first = self._with_registration.get(step.record.offset)
        return first is not None and step.before is not None and step.before.offset >= first

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
                f"Offset {offset} of the metadata log, {name}, breaks a rule for {subject}: {text}.",
                subject=subject,
                time_ns=None if span.to_ns == NEVER else span.to_ns,
                witness=() if self._log is None else (self._log.operation.index,),
                explanation=[
                    f"The record is {data}.",
                    *(str(state) for state in states if state is not None),
                ],
            )
        )


def _registrations(history: History) -> Registrations:
    restarted_ns = [operation.time_ns for operation in history.of("configure")]
    return Registrations(_brokers(history), fault_windows(history), restarted_ns)


def _returns(history: History) -> Returns:
    return Returns(_brokers(history), fault_windows(history))


def _brokers(history: History) -> dict[int, str]:
    """The brokers' names by their ids."""
    setup = setup_of(history)
    return {} if setup is None else {node.id: node.name for node in setup.nodes if "broker" in node.roles}


def _is_whole(history: History, log: MetadataLog) -> bool:
    """Whether a log begins at the cluster's first record and lacks no record.

    Such a log shows how each partition was created.  Its first record is that of the first leader.
    """
    records = log.seen.records
    within = bool(log.seen.log_start) or not records or records[0].offset > 0
    return not within and log.operation.index not in thinned_logs(history)
