"""Whether the log of a majority has every acknowledged change, committed before the answer.

A controller answers a change once the records that make it are committed (KIP-631), so that:

1.  The log has a record of every acknowledged change: ``metadata-ack-lost``.
2.  That record had been appended and committed when the change was answered: ``metadata-ack-early``.  This is
    violated if its leader, asked after the answer, reported a log end or a high watermark that is not above
    the record.
3. Brokers list what the log has, by the ids of topics: ``listed-against-log`` (`listed_topics`).
4.  While one controller leads alone, it knows every topic that it has created:
   ``acknowledged-topic-unknown``.
5.  No high watermark was above a change's record before the change was requested:
    ``high-watermark-unfounded`` (`unfounded_marks`).
6. At the end brokers report the configs that the log has: ``config-against-log`` (`configs`).

Other checkers judge whether elections and reassignments are in the log.  This module judges whether they were
committed in time.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NEVER
from checkers.evidence.faults import fault_windows
from checkers.history.operations import History
from checkers.history.replicas import EVIDENCE_METADATA
from checkers.history.setup import recorded_setup
from checkers.history.sources import Source, lacking
from checkers.kraft.metadata.acknowledged import Acknowledgement, acknowledgements
from checkers.kraft.metadata.anomalies import METADATA_ACK_EARLY, METADATA_ACK_LOST, TOPIC_UNKNOWN
from checkers.kraft.metadata.configs import judge_configs
from checkers.kraft.metadata.leader_offsets import LeaderOffsets, leader_offsets_of
from checkers.kraft.metadata.listed_topics import judge_listed
from checkers.kraft.metadata.loading import Change, Metadata
from checkers.kraft.metadata.logged import LoggedMetadata, LoggedRecord, TopicLogged, logged
from checkers.kraft.metadata.topic_lives import Life, lives_of
from checkers.kraft.metadata.unfounded_marks import early_marks, requested_records
from checkers.kraft.metadata.wipes import emptied
from checkers.kraft.quorum.views import views_of
from checkers.verdict.verdict import Anomaly

_UNKNOWN_TOPIC = re.compile(r"\[Error 3\]|UnknownTopicOrPartition|UNKNOWN_TOPIC_OR_PART")
"""How clients report Kafka's error 3, unknown topic or partition."""
_SETTLED_NS = 10_000_000_000
"""How long before an answer no fault and no other epoch may occur: a broker may ask an earlier leader."""


class AcknowledgedResult(NamedTuple):
    """The result for all acknowledged changes.

    Attributes:
        anomalies: changes that are missing or were committed late.
        figures: how many changes were judged.
        doubt: why not all of them could be judged; None if all could.
    """

    anomalies: list[Anomaly]
    figures: dict[str, object]
    doubt: str | None


def judge_kept(history: History, metadata: Metadata) -> AcknowledgedResult:
    """Compare acknowledged changes with the metadata log.

    Raises:
        msgspec.ValidationError: an operation, or an observation, is not as docs/histories.md says.
    """
    log = logged(history)
    if log is None:
        expected = EVIDENCE_METADATA in recorded_setup(history).evidence
        return AcknowledgedResult(
            [],
            {},
            "no metadata log could be read, so acknowledged changes could not be looked up"
            if expected
            else None,
        )
    asked = requested_records(history, metadata, log)
    acks, offsets = acknowledgements(history, metadata, log), leader_offsets_of(history)
    doubt, listed = _doubt(history, acks, log), judge_listed(metadata, log)
    configs = judge_configs(history, log)
    found = [
        *(_licensed(history, ack.asked_ns, one) for ack in acks for one in _judged(ack, log, offsets)),
        *_unknown_topics(history, metadata, log),
        *(_licensed(history, one.time_ns or 0, one) for one in (*listed.anomalies, *configs.anomalies)),
    ]
    early = [_licensed(history, one.time_ns or 0, one) for one in early_marks(history, asked)]
    figures = _figures(acks, log) | listed.figures | configs.figures | {"records_asked_for": len(asked)}
    # These offsets date the records, so dates prove nothing if the offsets are wrong.
    return AcknowledgedResult(early or found, figures, doubt)


def _judged(ack: Acknowledgement, log: LoggedMetadata, offsets: LeaderOffsets) -> Iterator[Anomaly]:
    if not ack.records or ack.lacks is not None:
        if ack.logged_if_made and ack.answered_ns <= log.until_ns:
            yield _lost(ack, log)
        return
    if min(record.span.from_ns for record in ack.records) > ack.answered_ns:
        first = min(ack.records, key=lambda record: record.span.from_ns)
        yield _early(ack, log, first, "appended", offsets.not_appended(first))
        return
    denials = [offsets.denied(record, ack.answered_ns) for record in ack.records]
    if None not in denials:
        yield _early(ack, log, ack.records[0], "committed", denials[0])


def _lost(ack: Acknowledgement, log: LoggedMetadata) -> Anomaly:
    longest = log.log
    where = f"offset {longest.end} in epoch {longest.epoch}"
    lacks = ack.lacks or "it has no record of that"
    return METADATA_ACK_LOST.found(
        f"The {ack.what} was acknowledged, but the metadata log does not have it.",
        subject=ack.subject,
        time_ns=ack.answered_ns,
        witness=(*ack.operations, longest.operation.index),
        explanation=(
            _answered(ack),
            f"The metadata log of {longest.operation.node} is the longest; it ends at {where}.",
            f"It has all records that were committed by then, but not this one: {lacks}.",
        ),
    )


def _early(
    ack: Acknowledgement, log: LoggedMetadata, record: LoggedRecord, what: str, shown_by: int | None
) -> Anomaly:
    observed = () if shown_by is None else (shown_by,)
    return METADATA_ACK_EARLY.found(
        f"The {ack.what} was acknowledged before its record was {what}.",
        subject=ack.subject,
        time_ns=ack.answered_ns,
        witness=(*ack.operations, *observed, log.log.operation.index),
        explanation=(
            _answered(ack),
            f"Its record has the offset {record.offset}, in epoch {record.epoch}.",
            f"Asked after that answer, a leader reported that the record was not {what} yet.",
        ),
    )


def _answered(ack: Acknowledgement) -> str:
    return (
        f"Requested at {ack.asked_ns / 1e9:.3f} s, the {ack.what} was acknowledged at "
        f"{ack.answered_ns / 1e9:.3f} s."
    )


def _licensed(history: History, before_ns: int, anomaly: Anomaly) -> Anomaly:
    licence = emptied(history, before_ns)
    return anomaly if licence is None else msgspec.structs.replace(anomaly, illegal=False, licence=licence)


def _unknown_topics(history: History, metadata: Metadata, log: LoggedMetadata) -> Iterator[Anomaly]:
    """Deletions that were refused because the topic was unknown, although the topic certainly existed."""
    for name in metadata.created:
        for life in lives_of(metadata, name):
            created, deletions = life.creation, life.deletions
            if not (created.acknowledged and life.settled and len(deletions) == 1):
                continue
            if _refused_as_unknown(deletions[0]) and _was_there(history, life, log.topics.get(name, ()), log):
                yield _unknown(name, created, deletions[0])


def _was_there(history: History, life: Life, topics: Iterable[TopicLogged], log: LoggedMetadata) -> bool:
    """Whether nothing removed a topic between its creation and the only requested deletion."""
    begun_ns, ended_ns = life.creation.begin.time_ns, life.deletions[0].last.time_ns
    gone = any(topic.removed is not None and topic.removed.span.meets(begun_ns, ended_ns) for topic in topics)
    certain = log.whole and ended_ns <= log.until_ns
    return certain and not gone and _undisturbed(history, life.creation.last.time_ns - _SETTLED_NS, ended_ns)


def _refused_as_unknown(deletion: Change) -> bool:
    return deletion.end is not None and bool(_UNKNOWN_TOPIC.search(deletion.end.error or ""))


def _undisturbed(history: History, from_ns: int, to_ns: int) -> bool:
    """Whether one controller was the only leader all the time, so that no request reached another."""
    views = views_of(history)
    epochs = {
        view.epoch
        for some in (views.claims, views.files)
        for view in some
        if view.time_ns >= from_ns and view.began_ns <= to_ns
    }
    return len(epochs) == 1 and not any(window.overlaps(from_ns, to_ns) for window in fault_windows(history))


def _unknown(name: str, created: Change, deletion: Change) -> Anomaly:
    return TOPIC_UNKNOWN.found(
        f"The creation of topic {name} was acknowledged and the topic was not deleted, but it was unknown.",
        subject=name,
        time_ns=deletion.last.time_ns,
        witness=(created.last.index, deletion.begin.index, deletion.last.index),
        explanation=(
            f"Its creation was acknowledged at {created.last.time_ns / 1e9:.3f} s.",
            f"Its deletion was answered at {deletion.last.time_ns / 1e9:.3f} s: {deletion.last.error}.",
            (
                "The metadata log has no removal of it by then. During that time there was exactly one "
                "active controller."
            ),
        ),
    )


def _doubt(history: History, acks: Sequence[Acknowledgement], log: LoggedMetadata) -> str | None:
    missing = lacking(history, Source.ADMIN, Source.DISKS, Source.QUORUM)
    late = sum(ack.logged_if_made and not ack.records and ack.answered_ns > log.until_ns for ack in acks)
    older = 0 if log.covered else sum(not ack.records for ack in _inconclusive(acks))
    doubts = [
        missing,
        f"{late} acknowledged changes may be later than the end of the metadata log" if late else None,
        f"{older} acknowledged changes may be older than the metadata log" if older else None,
    ]
    return "; ".join(doubt for doubt in doubts if doubt) or None


def _inconclusive(acks: Iterable[Acknowledgement]) -> list[Acknowledgement]:
    """Changes whose absence proves nothing here.

    Other checkers judge elections and reassignments.
    """
    return [ack for ack in acks if not ack.logged_if_made and ack.kind not in {"elections", "reassignments"}]


def _figures(acks: Sequence[Acknowledgement], log: LoggedMetadata) -> dict[str, object]:
    committed = sum(any(record.span.to_ns < NEVER for record in ack.records) for ack in acks)
    return {
        "acknowledgements_compared": dict(sorted(Counter(ack.kind for ack in acks).items())),
        "acknowledgements_seen_committed": committed,
        "acknowledgements_older_than_log": sum(not ack.records for ack in _inconclusive(acks)),
        "metadata_log_end": log.log.end,
    }
