"""Histories of consumer groups, recorded call by call; every operation happens 10 ms after the one before."""

from collections.abc import Mapping, Sequence
from typing import Any

from checkers.history.operations import History, OperationType
from tests.checkers.operation_story import OperationStory

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
GROUP, TOPIC, CLIENT = "group-0", "groups-0", "kafka-python"
MS = 1_000_000

Given = Mapping[int, Sequence[int]]
"""Offsets returned, by partition."""


class GroupStory(OperationStory):
    """Collects what members of groups do."""

    def __init__(self) -> None:
        super().__init__()
        self.members: dict[int, tuple[str, int]] = {}

    def setup(
        self,
        *groups: str,
        kind: str = "groups",
        unclean: bool = False,
        modern: Sequence[str] = (),
        mixed: Sequence[str] = (),
        static: Sequence[str] = (),
    ) -> None:
        """The set-up of a run whose groups must be drained."""
        config = {"unclean.leader.election.enable": "true"} if unclean else {}
        workload = {"kind": kind, "groups": list(groups), "session_ms": 6_000}
        workload |= {"modern": list(modern), "mixed": list(mixed), "static": list(static)}
        topics = [{"name": TOPIC, "partitions": 1}]
        value = {"kafka_version": "4.3.1", "workload": workload, "config": config, "topics": topics}
        self.add("runner", OK, "setup", None, value)

    def assigned(
        self, process: int, generation: int | None, starts: Mapping[int, int], given: Given | None = None
    ) -> int:
        """A poll in which a member is assigned partitions; the position of its completion."""
        if generation is not None:
            self.members[process] = (f"member-{process}", generation)
        return self.polled(process, given or {}, starts, member=generation is not None)

    def goes_on(self, process: int, generation: int) -> int:
        """A poll in which a member learns of another epoch alone; the position of its completion."""
        self.members[process] = (f"member-{process}", generation)
        return self.polled(process, {}, member=True)

    def polled(
        self,
        process: int,
        given: Given,
        starts: Mapping[int, int] | None = None,
        *,
        member: bool = False,
        group: str | None = GROUP,
    ) -> int:
        """A poll; the position of its completion."""
        asked: dict[str, Any] = {"client": CLIENT, "isolation": "read_uncommitted"}
        if group is not None:
            asked["group"] = group
        self.add(process, INVOKE, "poll", TOPIC, asked)
        records = [[p, list(offsets), [1_000 * p + o for o in offsets]] for p, offsets in given.items()]
        answer = {**asked, "records": records}
        if starts is not None:
            answer["assigned"] = [list(pair) for pair in starts.items()]
        if starts is not None or member:
            answer["membership"] = list(self.members[process]) if member else None
        return self.add(process, OK, "poll", TOPIC, answer)

    def commits(
        self,
        process: int,
        offsets: Mapping[int, int],
        outcome: OperationType | None = OK,
        generation: int | None = None,
    ) -> int:
        """A commit, in the process's generation or another one; its invocation's position."""
        began = self.begins_commit(process, offsets, generation)
        if outcome is not None:
            self.ends_commit(process, offsets, outcome)
        return began

    def resets(self, process: int, offsets: Mapping[int, int], outcome: OperationType = OK) -> None:
        """Somebody who is no member sets the offsets."""
        value: dict[str, Any] = {"client": CLIENT, "topic": TOPIC, "membership": None, "outsider": True}
        value["offsets"] = [list(pair) for pair in offsets.items()]
        self.add(process, INVOKE, "commit", GROUP, value)
        self.add(process, outcome, "commit", GROUP, value)

    def deletes(self, process: int, outcome: OperationType = OK) -> None:
        """Somebody asks for the group to be deleted."""
        self.add(process, INVOKE, "delete-group", GROUP)
        self.add(process, outcome, "delete-group", GROUP)

    def begins_commit(self, process: int, offsets: Mapping[int, int], generation: int | None = None) -> int:
        """The invocation of a commit."""
        member = self.members.get(process)
        if member is not None and generation is not None:
            member = (member[0], generation)
        value = {"client": CLIENT, "topic": TOPIC, "offsets": [list(pair) for pair in offsets.items()]}
        return self.add(process, INVOKE, "commit", GROUP, {**value, "membership": member and list(member)})

    def ends_commit(self, process: int, offsets: Mapping[int, int], outcome: OperationType = OK) -> int:
        """The completion of a commit."""
        value = {"client": CLIENT, "topic": TOPIC, "offsets": [list(pair) for pair in offsets.items()]}
        return self.add(process, outcome, "commit", GROUP, value)

    def recovers(self) -> None:
        """Recovery, and the beginning of the final phase."""
        self.add("runner", INVOKE, "recover", None, {"bound_ms": 1})
        self.add("runner", OK, "recover", None, {"bound_ms": 1})
        self.add("runner", OK, "phase", "final-read")

    def reads(
        self,
        offsets: Sequence[int],
        *,
        partition: int = 0,
        start: int = 0,
        isolation: str = "read_uncommitted",
        kind: OperationType = OK,
    ) -> None:
        """A final read of one partition."""
        asked = {"client": CLIENT, "isolation": isolation, "partition": partition}
        end = max(offsets, default=-1) + 1
        self.add(99, INVOKE, "final-read", TOPIC, asked)
        found = {"start": start, "end": end, "position": end}
        records = [[partition, list(offsets), [1_000 * partition + o for o in offsets]]]
        self.add(99, kind, "final-read", TOPIC, {**asked, **found, "records": records})

    def history(self, damage: tuple[str, ...] = ()) -> History:
        """The history of all operations so far."""
        return History("run", "2026-11-20T00:00:00Z", tuple(self.operations), damage)
