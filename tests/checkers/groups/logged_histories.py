"""Histories in which records of groups were read in the offsets topic; it has one partition that is read."""

from collections.abc import Sequence
from typing import Any

from checkers.groups import check_groups
from checkers.verdict.verdict import CheckerResult
from tests.checkers.groups.group_histories import GROUP, OK, TOPIC, GroupStory

PARTITION = 3
TOPIC_ID = "AAAAAAAAAAEAAAAAAAAAAg"
Record = list[Any]
"""A record from `what` on: what, group, member, epoch, held."""
Held = dict[int, int | None]
"""Partitions and the epochs in which they were assigned."""


def group(epoch: int | None, name: str = GROUP) -> Record:
    """A group's epoch."""
    return ["group", name, "", epoch, []]


def target(epoch: int | None, name: str = GROUP) -> Record:
    """The epoch of a group's target assignment."""
    return ["target", name, "", epoch, []]


def member(number: int, epoch: int | None, held: Held | None = None, name: str = GROUP) -> Record:
    """The epoch of the member of a process, and what it has."""
    rows = [[TOPIC_ID, partition, since] for partition, since in (held or {}).items()]
    return ["member", name, f"member-{number}", epoch, rows]


def subscription(number: int, epoch: int | None = 0, name: str = GROUP) -> Record:
    """The subscription of the member of a process; None instead of 0 deletes it."""
    return ["subscription", name, f"member-{number}", epoch, []]


def other(name: str = GROUP) -> Record:
    """A record of another kind, which is not reported."""
    return ["commit", name, TOPIC, 0, 0]


def committed(partition: int, offset: int, name: str = GROUP) -> Record:
    """A commit of the topic that the groups read."""
    return ["commit", name, TOPIC, partition, offset]


UNREADABLE: Record = ["unreadable", "", "", None, []]


def wrote(
    story: GroupStory, *records: Record, first: int = 0, epoch: int = 0, before: int | None = -1, **more: Any
) -> int:
    """One range of the log, a record at each offset; the index of its observation."""
    rows = [[first + at, *record[1:]] for at, record in enumerate(records) if record[0] == "commit"]
    groups = [
        [PARTITION, epoch, first + at, *record] for at, record in enumerate(records) if record[0] != "commit"
    ]
    stretch = [PARTITION, epoch, first, first + len(records), before, rows]
    value = {"began_ns": story.now_ns, "stretches": [stretch], "deleted": [], "transactional": []}
    return story.add("observer-commits", OK, "observe", "commits", value | {"groups": groups} | more)


def judged(story: GroupStory) -> CheckerResult:
    """The checker's result."""
    return check_groups(story.history())


def found(story: GroupStory) -> Sequence[str]:
    """Ids of all findings of the log's rules."""
    rules = {"group-epoch-back", "group-epoch-ahead", "assigned-before-released", "fenced-commit"}
    rules.add("removed-without-epoch")
    return [anomaly.id for anomaly in judged(story).anomalies if anomaly.id in rules]
