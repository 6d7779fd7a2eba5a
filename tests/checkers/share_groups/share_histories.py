"""Histories of share groups, recorded call by call; every operation happens 10 ms after the one before."""

from collections.abc import Mapping, Sequence
from typing import Any

from checkers.history.operations import FAIL, INFO, INVOKE, OK, History, OperationType
from tests.checkers.operation_story import STEP_NS, OperationStory

GROUP, TOPIC, CLIENT = "share-0", "shares-0", "kafka-clients"
TOPIC_ID = "AAECAwQFBgcICQoLDA0ODw"
ALTER, DELETE = "alter-share-offsets", "delete-share-offsets"
LIMIT, LOCK_MS = 5, 2_000

Given = Mapping[int, int]
"""Delivery counts, by offset."""


def value_at(offset: int) -> int:
    """The value of the record at an offset."""
    return 1_000 + offset


class ShareStory(OperationStory):
    """Collects what members of a share group do."""

    def __init__(self) -> None:
        super().__init__()
        self.consumers: dict[int, int] = {}

    def setup(
        self,
        *groups: str,
        kind: str = "shares",
        unclean: bool = False,
        limit: int = LIMIT,
        committed: Sequence[str] = (),
        **more: Any,
    ) -> None:
        """The set-up of a run whose groups must receive everything, `committed` what is committed."""
        config = {"unclean.leader.election.enable": "true"} if unclean else {}
        workload = {"kind": kind, "groups": list(groups), "delivery_limit": limit, "lock_ms": LOCK_MS}
        workload |= {"committed": list(committed)}
        topics = [{"name": TOPIC, "topic_id": TOPIC_ID, "partitions": 1}]
        value = {"kafka_version": "4.3.1", "workload": workload, "config": config, "topics": topics}
        self.add("runner", OK, "setup", None, value | more)

    def sends(self, *offsets: int) -> None:
        """A producer sends records and gets their offsets."""
        self.add(90, INVOKE, "send", TOPIC, [[0, value_at(o)] for o in offsets])
        self.add(90, OK, "send", TOPIC, [[0, value_at(o), o, "ok"] for o in offsets])

    def begins_transaction(self, *offsets: int, process: int = 91) -> dict[str, Any]:
        """The invocation of a transaction; its value."""
        mops = [["send", TOPIC, 0, value_at(offset)] for offset in offsets]
        asked = {"client": CLIENT, "end": "commit", "mops": mops}
        self.add(process, INVOKE, "txn", f"txn-{process}", asked)
        return asked

    def ends_transaction(
        self, asked: Mapping[str, Any], *offsets: int, kind: OperationType = OK, process: int = 91
    ) -> None:
        """Its completion, with the end that the kind of it stands for, requested just before."""
        ended = {OK: "commit", FAIL: "abort"}.get(kind)
        mops = [["send", TOPIC, 0, value_at(offset), offset] for offset in offsets]
        self.now_ns += STEP_NS
        answer = {**asked, "mops": mops, "ended": ended, "ending_ns": self.now_ns - STEP_NS}
        self.add(process, kind, "txn", f"txn-{process}", answer)

    def transaction(self, *offsets: int, kind: OperationType = OK, process: int = 91) -> None:
        """A transaction with records at these offsets."""
        asked = self.begins_transaction(*offsets, process=process)
        self.ends_transaction(asked, *offsets, kind=kind, process=process)

    def opens(self, process: int) -> None:
        """The process closes its consumer and opens another one."""
        self.consumers[process] = self.consumers.get(process, 0) + 1

    def member(self, process: int, group: str = GROUP) -> dict[str, Any]:
        """Who a process is."""
        return {"client": CLIENT, "group": group, "consumer": self.consumers.get(process, 0)}

    def begins_poll(self, process: int, *, prefetches: bool = False, group: str = GROUP) -> dict[str, Any]:
        """The invocation of a poll; its value."""
        asked = self.member(process, group) | {"prefetches": prefetches}
        self.add(process, INVOKE, "share-poll", TOPIC, asked)
        return asked

    def ends_poll(
        self,
        process: int,
        asked: Mapping[str, Any],
        given: Given,
        values: Mapping[int, Any] | None = None,
        kind: OperationType = OK,
    ) -> int:
        """The completion of a poll; its position."""
        if kind is not OK:
            return self.add(process, kind, "share-poll", TOPIC, asked)
        read_values = [(values or {}).get(offset, value_at(offset)) for offset in given]
        records = [[0, list(given), read_values, list(given.values())]] if given else []
        return self.add(process, OK, "share-poll", TOPIC, {**asked, "records": records})

    def polls(self, process: int, given: Given, values: Mapping[int, Any] | None = None, **how: Any) -> int:
        """A poll that returns records; the position of its completion."""
        return self.ends_poll(process, self.begins_poll(process, **how), given, values)

    def polls_renewed(self, process: int, *offsets: int) -> int:
        """A poll that returns records whose locks were renewed; the position of its completion."""
        asked = self.begins_poll(process)
        renewed = [[0, list(offsets)]]
        return self.add(process, OK, "share-poll", TOPIC, {**asked, "records": [], "renewed": renewed})

    def acknowledges(
        self,
        process: int,
        offsets: Sequence[int],
        kind: str = "accept",
        outcome: OperationType | None = OK,
        refused: str = "",
    ) -> int:
        """Acknowledgements of one kind; the position of their invocation."""
        asked = self.member(process) | {"acknowledgements": [[0, list(offsets), [kind] * len(offsets)]]}
        began = self.add(process, INVOKE, "acknowledge", TOPIC, asked)
        if outcome is OK:
            answer = asked | {"refused": [[0, refused]] if refused else []}
            self.add(process, OK, "acknowledge", TOPIC, answer)
        elif outcome is not None:
            self.add(process, outcome, "acknowledge", TOPIC, asked)
        return began

    def starts(self, start: int | None, outcome: OperationType = OK) -> int:
        """The group's start offset is asked for; the position of the answer."""
        self.add("lister", INVOKE, "share-offsets", GROUP, {"topic": TOPIC})
        answer: dict[str, Any] = {"topic": TOPIC}
        if outcome is OK:
            answer["offsets"] = [[0, start]]
        return self.add("lister", outcome, "share-offsets", GROUP, answer)

    def begins_alter(self, begin: int | None, turn: int = 1, partition: int = 0) -> dict[str, Any]:
        """The start offset is asked to be set, or to be deleted if it is None; the value."""
        asked: dict[str, Any] = {"topic": TOPIC, "turn": turn, "to": 1}
        if begin is not None:
            asked |= {"partition": partition, "offset": begin}
        self.add("altering", INVOKE, ALTER if begin is not None else DELETE, GROUP, asked)
        return asked

    def alters(
        self, begin: int | None, outcome: OperationType = OK, turn: int = 1, partition: int = 0
    ) -> int:
        """The start offset is set, or deleted; the position of the answer."""
        asked = self.begins_alter(begin, turn, partition)
        answer = asked | {"code": {OK: 0, FAIL: 68, INFO: 16}[outcome]}
        return self.add("altering", outcome, ALTER if begin is not None else DELETE, GROUP, answer)

    def lists(
        self,
        *offsets: int,
        client: str = CLIENT,
        isolation: str = "read_uncommitted",
        end: int | None = None,
    ) -> None:
        """A final read finds records; its end follows the last one unless it is given."""
        asked = {"client": client, "isolation": isolation, "partition": 0}
        self.add("reader", INVOKE, "final-read", TOPIC, asked)
        end = max(offsets, default=-1) + 1 if end is None else end
        records = [[0, list(offsets), [value_at(o) for o in offsets]]] if offsets else []
        answer = {**asked, "start": 0, "end": end, "position": end, "records": records}
        self.add("reader", OK, "final-read", TOPIC, answer)

    def fault(self, *, healed: bool = True) -> None:
        """A node is paused, and resumed unless asked otherwise."""
        plan = {"id": "f1", "kind": "pause", "target": "b1"}
        self.add("nemesis", INVOKE, "inject", "f1", plan)
        self.add("nemesis", OK, "inject", "f1", {**plan, "targets": ["b1"]})
        if healed:
            self.add("nemesis", INVOKE, "heal", "f1", plan)
            self.add("nemesis", OK, "heal", "f1", {**plan, "targets": ["b1"]})

    def history(self) -> History:
        """Everything so far."""
        return History(run="r", began_at="2026-11-20T21:56:57Z", operations=tuple(self.operations))


def whole(records: int = 12) -> ShareStory:
    """A run in which one member accepted all records that are there, at offsets from 0."""
    story = ShareStory()
    story.setup(GROUP)
    offsets = range(records)
    story.sends(*offsets)
    story.polls(1, dict.fromkeys(offsets, 1))
    story.acknowledges(1, offsets)
    return story


def ended(story: ShareStory, records: int = 12) -> History:
    """The history with what is asked and read at the end."""
    story.starts(records)
    story.lists(*range(records))
    return story.history()


__all__ = ["FAIL", "GROUP", "INFO", "LOCK_MS", "OK", "TOPIC", "ShareStory", "ended", "value_at", "whole"]
