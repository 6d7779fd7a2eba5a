"""Leaders of partitions and of the quorum over time, as the history records them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.metadata_log import TimeBounds
from checkers.evidence.partition_changes import NOBODY, PartitionState, partition_changes
from checkers.history.operations import History
from results.markup.cleaning import clean
from results.report.reading.spans import leader_spans, settled
from results.run.observation import Claim, PartitionView
from results.run.readable import readable

_NAME = 40


class LeadershipStart(NamedTuple):
    """A node that led from a time on.

    Attributes:
        time_ns: start of the leadership.
        node: name of the node, cleaned; empty without a leader.
        epoch: leader epoch.
        text: the leadership as text.
        until_ns: when the node stopped answering as leader; None if it led until the next leader began.
    """

    time_ns: int
    node: str
    epoch: int
    text: str
    until_ns: int | None = None


def partition_leaders(
    history: History, views: Sequence[PartitionView], names: Mapping[int, str], place: PartitionName
) -> list[LeadershipStart]:
    """Leaders of a partition in the order of time: from the metadata log, else from reports of brokers."""
    changes = readable(partial(partition_changes, history))
    if changes is not None and place in changes.states:
        states = [(known_ns(changes.span(state)), state) for state in changes.states[place]]
        return list(_by_log(states, names))
    name = (place.topic, place.partition)
    standings = settled(view for view in views if view.partition == name).get(name, [])
    led: list[LeadershipStart] = []
    for time_ns, standing in standings:
        if not led or led[-1].epoch != standing.epoch:
            led.append(_led(time_ns, standing.leader, standing.epoch, "", names))
    return led


def quorum_leaders(claims: Mapping[str, Sequence[Claim]]) -> list[LeadershipStart]:
    """Leaders of the quorum according to their own answers, with start and end."""
    return [
        LeadershipStart(
            span.begin_ns, clean(span.node, _NAME), span.epoch, f"leads epoch {span.epoch}", span.end_ns
        )
        for span in sorted(leader_spans(claims), key=lambda span: span.begin_ns)
    ]


def _by_log(
    states: Sequence[tuple[int, PartitionState]], names: Mapping[int, str]
) -> Iterator[LeadershipStart]:
    before: PartitionState | None = None
    for time_ns, state in states:
        if before is None or (state.leader, state.leader_epoch) != (before.leader, before.leader_epoch):
            how = ", elected uncleanly" if state.unclean else ", from the ELR" if state.was_eligible else ""
            yield _led(time_ns, state.leader, state.leader_epoch, f", ISR {list(state.isr)}{how}", names)
        before = state


def _led(time_ns: int, leader: int, epoch: int, how: str, names: Mapping[int, str]) -> LeadershipStart:
    if leader == NOBODY:
        return LeadershipStart(time_ns, "", epoch, f"no leader, epoch {epoch}{how}")
    return LeadershipStart(time_ns, names.get(leader, f"broker {leader}"), epoch, f"leads epoch {epoch}{how}")


def known_ns(span: TimeBounds) -> int:
    """Latest time at which a record was appended; if unknown, the earliest."""
    return span.from_ns if span.to_ns == NEVER else span.to_ns
