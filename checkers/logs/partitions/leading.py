"""Whether a broker stops leading when it knows of another leader, according to its own answers (KIP-631).

A broker answers metadata requests from its metadata cache.  Its replica manager decides whether it leads, and
so answers or refuses a consumer's request.  A broker applies a record first to its metadata cache and then to
its replicas, within milliseconds.  A broker that was paused, or that gets no CPU time, needs longer: up to
`BOUND_NS`, not counting pauses.

Epochs only increase.  So the metadata did not change between two answers with the same leader epoch.  A
consumer's request counts only if an answer with the same epoch follows it.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from checkers.columns.tables import PartitionName
from checkers.evidence.partition_changes import NOBODY
from checkers.history.error_codes import ErrorCode
from checkers.history.observed import LEADING, LeadingSeen
from checkers.history.operations import History, once
from checkers.licences.facts import Facts
from checkers.logs.partitions.anomalies import LEADERSHIP_KEPT
from checkers.logs.partitions.broker_lives import held_up_ns, same_process
from checkers.logs.partitions.views import is_one
from checkers.verdict.verdict import Anomaly

BOUND_NS = 10_000_000_000
"""How long a broker may answer as a leader after its metadata named another one.

This is a thousand times the usual time, for machines on which brokers wait for a processor.
"""
AS_LEADER = frozenset({ErrorCode.NONE, ErrorCode.OFFSET_NOT_AVAILABLE})
"""Error codes that only a leader returns: no error, and offset not available (it can't know its end yet)."""


class LeaderAnswer(NamedTuple):
    """A broker's report about a partition, and its answer to a consumer's request; times in nanoseconds.

    Attributes:
        op: index of the observation.
        node: the broker's name.
        partition: the partition.
        leader: id of the leader, according to the broker's metadata.
        leader_epoch: the leader epoch, according to the same metadata.
        error: Kafka's error code in the answer to the consumer's request.
        began_ns: when its metadata was requested.
        asked_ns: when the consumer's request was sent; the metadata had been reported by then.
        time_ns: when the consumer's request was answered.
    """

    op: int
    node: str
    partition: PartitionName
    leader: int
    leader_epoch: int
    error: int
    began_ns: int
    asked_ns: int
    time_ns: int


@once
def leading_of(history: History) -> tuple[LeaderAnswer, ...]:
    """All answers, in the order of time.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    found = []
    for operation in history.observed(LEADING):
        seen = msgspec.convert(operation.value, LeadingSeen)
        times_ns = (seen.began_ns, seen.asked_ns, operation.time_ns)
        for topic, rows in seen.topics.items():
            for number, leader, epoch, error in rows:
                place = (operation.index, operation.node or "", PartitionName(topic, number))
                found.append(LeaderAnswer(*place, leader, epoch, error, *times_ns))
    return tuple(found)


class _Named(NamedTuple):
    """Since when a broker's metadata has named another leader, and its last answer as a leader since then."""

    first: LeaderAnswer
    led: LeaderAnswer | None


def leadership_kept(facts: Facts) -> Iterator[Anomaly]:
    """Find brokers that continue to lead, at most one finding for each leader epoch of a partition."""
    named: dict[tuple[str, PartitionName], _Named] = {}
    found: set[tuple[str, PartitionName, int]] = set()
    for answer in leading_of(facts.history):
        place = (answer.node, answer.partition)
        known = named.pop(place, None)
        if facts.ids.get(answer.node, answer.leader) == answer.leader or answer.leader == NOBODY:
            continue
        if known is None or not _goes_on(facts, known, answer):
            known = _Named(answer, None)
        led = known.led
        what = (*place, answer.leader_epoch)
        if led is not None and what not in found and _overdue(facts, known.first, led):
            found.add(what)
            yield _found(known.first, led, answer)
        named[place] = known._replace(led=answer) if answer.error in AS_LEADER else known


def _goes_on(facts: Facts, known: _Named, answer: LeaderAnswer) -> bool:
    """Whether a broker names the same leader as before, in the same process.

    A broker that restarts knows its metadata before it has loaded its logs.
    """
    first = known.first
    alike = (first.leader, first.leader_epoch) == (answer.leader, answer.leader_epoch)
    return alike and (known.led is None or same_process(facts, first.node, first.began_ns, answer.time_ns))


def _overdue(facts: Facts, first: LeaderAnswer, led: LeaderAnswer) -> bool:
    pauses = (w for w in facts.windows if w.freezes and w.concerns(first.node))
    paused_ns = held_up_ns(pauses, first.asked_ns, led.asked_ns)
    return led.asked_ns - first.asked_ns - paused_ns >= BOUND_NS and is_one(facts, first.partition)


def _found(first: LeaderAnswer, led: LeaderAnswer, last: LeaderAnswer) -> Anomaly:
    where, epoch = first.partition, first.leader_epoch
    return LEADERSHIP_KEPT.found(
        f"{first.node} answered as the leader of {where} at {_s(led.time_ns)}; by {_s(first.asked_ns)} its "
        f"own metadata had named broker {first.leader} as the leader of epoch {epoch}.",
        subject=str(where),
        time_ns=led.time_ns,
        witness=tuple(dict.fromkeys((first.op, led.op, last.op))),
        explanation=(
            f"By {_s(first.asked_ns)} it had reported broker {first.leader} as the leader in epoch {epoch}.",
            f"Asked at {_s(led.asked_ns)} it answered as a leader (error code {led.error}).",
            (
                f"Asked at {_s(last.began_ns)} it still reported broker {last.leader} as the leader in "
                f"epoch {epoch}."
            ),
            "It was not restarted in that time.",
        ),
    )


def _s(time_ns: int) -> str:
    return f"{time_ns / 1e9:.3f} s"
