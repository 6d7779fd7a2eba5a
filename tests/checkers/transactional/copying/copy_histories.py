"""Histories of a copy: a log that is read, attempts that copy it, and what there is in the end."""

import random
from dataclasses import dataclass, field
from typing import Any

from checkers.history.operations import History, Operation, OperationType

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
GROUP, SOURCE, TARGET = "copy-0", "copy-in", "copy-out"
READERS = ("kafka-python", "confluent-kafka")
Input = tuple[int, int]
"""A partition and an offset of the topic that is copied."""


@dataclass
class CopyStory:
    """What happened; change it before `history` to tell of what must not happen.

    Attributes:
        inputs: value of each record that is copied, by partition and offset.
        outputs: value of each visible copy, by partition and offset.
        committed: where the group is to go on, by partition; None: nobody asked.
        hidden: partitions of the output in which a transaction is open that hides what comes after it.
        unread: topic and partition pairs that no final read came to the end of.
        setup: value of the setup operation; None: there is none.
    """

    inputs: dict[Input, Any] = field(default_factory=dict)
    outputs: dict[tuple[int, int], Any] = field(default_factory=dict)
    committed: dict[int, int | None] | None = None
    hidden: set[int] = field(default_factory=set)
    unread: set[tuple[str, int]] = field(default_factory=set)
    setup: dict[str, Any] | None = None
    attempts: list[Operation] = field(default_factory=list)
    value: int = 1_000_000_000

    def attempt(
        self,
        outcome: OperationType | None,
        inputs: list[Input],
        *,
        visible: bool | None = None,
        offsets: dict[int, int] | None = None,
    ) -> list[int]:
        """One transaction that copies inputs; the values of its copies, which are visible if it is ok."""
        process = len(self.attempts)
        values = [self.value + index for index in range(len(inputs))]
        self.value += len(inputs)
        positions = offsets if offsets is not None else {p: offset + 1 for p, offset in inputs}
        mops: list[list[Any]] = [
            ["send", TARGET, p, value] for (p, _), value in zip(inputs, values, strict=True)
        ]
        if positions:
            mops.append(["offsets", GROUP, SOURCE, [list(pair) for pair in positions.items()]])
        consumed = [[SOURCE, p, [offset], [self.inputs[p, offset]]] for p, offset in inputs]
        transaction = {"client": READERS[0], "end": "commit", "mops": mops, "consumed": consumed}
        self.attempts.append(Operation(0, 0, process, INVOKE, "txn", "copy-0", transaction))
        if outcome is not None:
            ended = {**transaction, "ended": "commit" if outcome is OK else None}
            self.attempts.append(Operation(0, 0, process, outcome, "txn", "copy-0", ended))
        if outcome is OK if visible is None else visible:
            for (p, _), value in zip(inputs, values, strict=True):
                self.appear(p, value)
        return values

    def appear(self, partition: int, value: Any) -> None:
        """A copy becomes visible, behind a marker."""
        offset = 2 + max((offset for p, offset in self.outputs if p == partition), default=-2)
        self.outputs[partition, offset] = value

    def history(self) -> History:
        """Everything, in the order in which it happened."""
        operations = [*self.attempts]
        if self.setup is not None:
            operations.insert(0, Operation(0, 0, "runner", OK, "setup", None, self.setup))
        for topic, records in ((SOURCE, self.inputs), (TARGET, self.outputs)):
            partitions = sorted({p for p, _ in self.inputs})
            operations += [
                _final_read(topic, partition, client, records)
                for partition in partitions
                for client in READERS
                if (topic, partition) not in self.unread
            ]
        operations += [
            _of_everything(partition, self.attempts, 2000 if partition in self.hidden else 1000)
            for partition in {p for p, _ in self.inputs}
        ]
        if self.committed is not None:
            answer = {"topic": SOURCE, "offsets": [list(pair) for pair in self.committed.items()]}
            operations.append(Operation(0, 0, 99, INVOKE, "committed-offsets", GROUP, {"topic": SOURCE}))
            operations.append(Operation(0, 0, 99, OK, "committed-offsets", GROUP, answer))
        numbered = (
            Operation(index, index, o.process, o.type, o.f, o.key, o.value)
            for index, o in enumerate(operations)
        )
        return History("run", "2026-11-21T10:00:00Z", tuple(numbered))


def simulated(seed: int, inputs: int = 130, partitions: int = 2) -> CopyStory:
    """A run of a group that copies exactly once; some attempts fail, of some nobody knows how they ended."""
    drawn = random.Random(seed)
    story = CopyStory(committed=dict.fromkeys(range(partitions), None))
    story.inputs = {(n % partitions, n // partitions * 2): n for n in range(inputs)}
    assert story.committed is not None
    for partition in range(partitions):
        waiting = [where for where in story.inputs if where[0] == partition]
        while len(waiting) > 3:
            batch = waiting[: drawn.randint(1, 5)]
            outcome = drawn.choice([OK, OK, OK, FAIL, INFO, None])
            happened = outcome is OK or (outcome is not FAIL and drawn.random() < 0.5)
            story.attempt(outcome, batch, visible=happened)
            if happened:
                waiting = waiting[len(batch) :]
                story.committed[partition] = batch[-1][1] + 1
    return story


def _of_everything(partition: int, attempts: list[Operation], end: int) -> Operation:
    """A final read of uncommitted records too: every copy that was ever sent."""
    sends = [mop for o in attempts if o.type is INVOKE for mop in o.value["mops"] if mop[0] == "send"]
    records = {(mop[2], offset): mop[3] for offset, mop in enumerate(sends)}
    read = _final_read(TARGET, partition, READERS[0], records)
    answer = {**read.value, "isolation": "read_uncommitted", "end": end, "position": end}
    return Operation(0, 0, 51, OK, "final-read", TARGET, answer)


def _final_read(topic: str, partition: int, client: str, records: dict[tuple[int, int], Any]) -> Operation:
    mine = sorted((offset, value) for (p, offset), value in records.items() if p == partition)
    value = {
        "client": client,
        "isolation": "read_committed",
        "partition": partition,
        "start": 0,
        "end": 1000,
        "position": 1000,
        "records": [[partition, [offset for offset, _ in mine], [value for _, value in mine]]],
    }
    return Operation(0, 0, 50, OK, "final-read", topic, value)
