"""High watermarks above records whose change had not been requested yet.

Some records can only be caused by the workload: a topic's creation under one of its names, or a config's
value that only it writes.  Such a record was appended after the change was first requested.  So before that
request no leader can have reported that this record, and all records before it, were committed.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

import numpy as np

from checkers.evidence.administration import alterations_of
from checkers.history.operations import History
from checkers.history.setup import Setup, recorded_setup
from checkers.kraft.metadata.acknowledged import CONFIG_REGISTER
from checkers.kraft.metadata.loading import Metadata
from checkers.kraft.metadata.logged import LoggedMetadata, LoggedRecord
from checkers.kraft.quorum.leader_answers import UNFOUNDED_MARK
from checkers.kraft.quorum.views import NONE, LeaderClaim, views_of
from checkers.verdict.verdict import Anomaly


class RequestedRecord(NamedTuple):
    """A record that only a request can have caused.

    Attributes:
        record: the record.
        asked_ns: when the change was first requested.
        operation: index of the invocation.
        what: what was requested, as a text.
    """

    record: LoggedRecord
    asked_ns: int
    operation: int
    what: str


def requested_records(history: History, metadata: Metadata, log: LoggedMetadata) -> list[RequestedRecord]:
    """Records that certainly were appended after their request, in the order of the log.

    Raises:
        msgspec.ValidationError: the set-up is not as docs/histories.md says.
    """
    setup = recorded_setup(history)
    found = [*_topics(setup, metadata, log), *_configs(history, setup, log)]
    return sorted(
        (asked for asked in found if asked.record.offset > NONE), key=lambda each: each.record.offset
    )


def _topics(setup: Setup, metadata: Metadata, log: LoggedMetadata) -> Iterator[RequestedRecord]:
    given = {topic.name for topic in setup.topics}
    for name, creations in metadata.created.items():
        if name not in given:
            begin = creations[0].begin
            for topic in log.topics.get(name, ()):
                yield RequestedRecord(topic.made, begin.time_ns, begin.index, f"the creation of topic {name}")


def _configs(history: History, setup: Setup, log: LoggedMetadata) -> Iterator[RequestedRecord]:
    """Values of registers.

    Configs that other clients also change are left out, because the author of a value is unknown.
    """
    otherwise = {(topic.name, config) for topic in setup.topics for config in topic.config}
    otherwise |= {(str(operation.key), asked.config) for operation, asked in alterations_of(history)}
    written: set[tuple[str, str]] = set()
    for operation in history.of("write"):
        key, value = operation.key, str(operation.value)
        if isinstance(key, str) and key.startswith(CONFIG_REGISTER) and (key, value) not in written:
            written.add((key, value))
            _, topic, config = key.split("/", 2)
            if (topic, config) not in otherwise:
                what = f"{config}={value} of {topic}"
                for record in log.config(topic, config).of(value, 0):
                    yield RequestedRecord(record, operation.time_ns, operation.index, what)


def early_marks(history: History, asked: list[RequestedRecord]) -> Iterator[Anomaly]:
    """The first answer, for each leader and epoch, whose high watermark is above a record not yet requested.

    Args:
        history: has the answers.
        asked: as `requested_records` returns it.
    """
    claims = sorted(views_of(history).claims, key=lambda claim: (claim.epoch, claim.node, claim.time_ns))
    for (epoch, _), of_leader in groupby(claims, key=lambda claim: (claim.epoch, claim.node)):
        below = [each for each in asked if each.record.epoch <= epoch]
        if below:
            yield from _first(list(of_leader), below)


def _first(claims: list[LeaderClaim], asked: list[RequestedRecord]) -> Iterator[Anomaly]:
    offsets = np.array([each.record.offset for each in asked], dtype=np.int64)
    latest = np.maximum.accumulate(np.array([each.asked_ns for each in asked], dtype=np.int64))
    marks = np.array([claim.high_watermark for claim in claims], dtype=np.int64)
    times = np.array([claim.time_ns for claim in claims], dtype=np.int64)
    counts = np.searchsorted(offsets, marks)
    bad = np.flatnonzero((counts > 0) & (latest[counts - 1] > times))
    for place in bad[:1].tolist():
        last = max(asked[: int(counts[place])], key=lambda each: each.asked_ns)
        yield _early(claims[place], last)


def _early(claim: LeaderClaim, asked: RequestedRecord) -> Anomaly:
    return UNFOUNDED_MARK.found(
        f"{claim.node}, leader of epoch {claim.epoch}, reported high watermark "
        f"{claim.high_watermark} before {asked.what} was requested, whose record has offset "
        f"{asked.record.offset}.",
        subject=f"{claim.node}, epoch {claim.epoch}",
        time_ns=claim.time_ns,
        witness=(claim.index, asked.operation),
        explanation=(
            f"At {claim.time_ns / 1e9:.3f} s {claim.node} reported high watermark {claim.high_watermark}.",
            f"At {asked.asked_ns / 1e9:.3f} s {asked.what} was requested for the first time.",
            f"Its record has offset {asked.record.offset} and epoch {asked.record.epoch}.",
        ),
    )
