"""Histories of an application that counts records: its input, its output, and what its members reported."""

import random
from dataclasses import dataclass, field
from typing import Any

from checkers.history.operations import History, Operation, OperationType

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
GROUP, SOURCE, TARGET = "streams-0", "streams-in", "streams-out"
CHANGELOG = "streams-0-counts-changelog"
COUNTERS = 5
LOAD = ("streams-0-4-1", "streams-0-5-1")
LAST = "streams-0-last"
S_NS = 1_000_000_000
Row = list[Any]
"""Offset in the output, member, partition and offset of the input, key, count, value."""


@dataclass
class StreamsStory:
    """What happened; change it before `history` to tell of what must not happen.

    Attributes:
        inputs: value of each record of the input, by partition and offset.
        outputs: rows of the output, by partition.
        before: the group's offsets before the output is read; None: there was no answer.
        after: the same for after it; the offsets are those before it if there is nothing here.
        unread: topic and partition pairs that were not read to the end.
        foreign: offsets and texts of records of other writers, by partition of the output.
        running: members of the load that were running during the fault.
        processed: what each of them had processed before and after the fault.
        kind: kind of the workload.
        state: the state that members of the load report.
        reported_s: when they report.
        faulty: whether there is a fault, from 10 s to 31 s.
        phases: when phases began, seconds.
        sent_s: when all records were sent.
        ends: ends of the partitions of the input that final reads list.
        more: operations that are added at the end; their times are kept.
    """

    inputs: dict[tuple[int, int], int] = field(default_factory=dict)
    outputs: dict[int, list[Row]] = field(default_factory=dict)
    before: dict[int, int | None] | None = field(default_factory=dict)
    after: dict[int, int | None] | None = None
    unanswered_after: bool = False
    unread: set[tuple[str, int]] = field(default_factory=set)
    foreign: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    running: tuple[str, ...] = LOAD
    processed: tuple[int, int] = (10, 200)
    kind: str = "streams"
    state: str = "RUNNING"
    reported_s: tuple[int, int, int] = (5, 12, 20)
    faulty: bool = True
    phases: dict[str, int] = field(default_factory=dict)
    sent_s: int = 15
    ends: dict[int, int] = field(default_factory=lambda: {0: 1000, 1: 1000})
    more: list[Operation] = field(default_factory=list)

    def history(self) -> History:
        """Everything, in the order in which it happened."""
        phases = (Operation(0, at * S_NS, "runner", OK, "phase", name) for name, at in self.phases.items())
        told = [
            self._setup(),
            *phases,
            self._sent(),
            *(self._fault() if self.faulty else ()),
            *self._reports(),
            *self._answer(50, self.before),
        ]
        told += [
            self._read_input(partition) for partition in (0, 1) if (SOURCE, partition) not in self.unread
        ]
        for partition in (0, 1):
            told += self._read_output(partition)
        after = self.before if self.after is None else self.after
        told += self._answer(90, None if self.unanswered_after else after)
        told += self.more
        numbered = (
            Operation(index, o.time_ns, o.process, o.type, o.f, o.key, o.value)
            for index, o in enumerate(told)
        )
        return History("run", "2026-11-21T10:00:00Z", tuple(numbered))

    def row(self, partition: int, offset: int) -> Row:
        """The row of the output that stands for a record of the input."""
        return next(row for row in self.outputs[partition] if row[3] == offset)

    def _setup(self) -> Operation:
        topics = [
            {"name": SOURCE, "partitions": 2},
            {"name": TARGET, "partitions": 2, "loaded": False, "read": False},
            {"name": CHANGELOG, "partitions": 2, "loaded": False, "read": False},
        ]
        workload = {"kind": self.kind, "application": GROUP, "counters": COUNTERS}
        value = {"kafka_version": "4.4.0", "topics": topics, "workload": workload}
        return Operation(0, 0, "runner", OK, "setup", None, value)

    def _sent(self) -> Operation:
        values = [[partition, value] for (partition, _), value in self.inputs.items()]
        return Operation(0, self.sent_s * S_NS, 0, INVOKE, "send", SOURCE, values)

    def _fault(self) -> list[Operation]:
        planned = {"kind": "partition", "targets": ["n1"]}
        return [
            Operation(0, at * S_NS, "nemesis", kind, f, "f1", planned)
            for at, f, kind in ((10, "inject", INVOKE), (11, "inject", INFO), (30, "heal", INVOKE))
        ] + [Operation(0, 31 * S_NS, "nemesis", OK, "heal", "f1", planned)]

    def _reports(self) -> list[Operation]:
        reports = [
            Operation(
                0,
                at * S_NS,
                100 + number,
                OK,
                "streams-status",
                GROUP,
                {"member": member, "last": False, "state": self.state, "processed": processed},
            )
            for number, member in enumerate(self.running)
            for at, processed in zip(self.reported_s, (0, *self.processed), strict=True)
        ]
        last = {"member": LAST, "last": True, "state": "RUNNING", "processed": 5}
        return [*reports, Operation(0, 40 * S_NS, 99, OK, "streams-status", GROUP, last)]

    def _answer(self, at: int, offsets: dict[int, int | None] | None) -> list[Operation]:
        asked: dict[str, Any] = {"topic": SOURCE}
        invoked = Operation(0, at * S_NS, 99, INVOKE, "committed-offsets", GROUP, asked)
        if offsets is None:
            return [invoked, Operation(0, (at + 1) * S_NS, 99, INFO, "committed-offsets", GROUP, asked)]
        answer = asked | {"offsets": [list(pair) for pair in offsets.items()]}
        return [invoked, Operation(0, (at + 1) * S_NS, 99, OK, "committed-offsets", GROUP, answer)]

    def _read_input(self, partition: int) -> Operation:
        mine = sorted((offset, value) for (p, offset), value in self.inputs.items() if p == partition)
        value = {
            "client": "kafka-python",
            "isolation": "read_committed",
            "partition": partition,
            "start": 0,
            "end": self.ends[partition],
            "position": self.ends[partition],
            "records": [[partition, [offset for offset, _ in mine], [value for _, value in mine]]],
        }
        return Operation(0, 55 * S_NS, 50, OK, "final-read", SOURCE, value)

    def _read_output(self, partition: int) -> list[Operation]:
        asked = {"partition": partition}
        records = sorted(self.outputs.get(partition, []))
        answer = asked | {
            "start": 0,
            "end": 5000,
            "records": records,
            "foreign": self.foreign.get(partition, []),
        }
        unread = (TARGET, partition) in self.unread
        return [
            Operation(0, 60 * S_NS, 99, INVOKE, "read-output", TARGET, asked),
            Operation(
                0, 61 * S_NS, 99, FAIL if unread else OK, "read-output", TARGET, asked if unread else answer
            ),
        ]


def simulated(seed: int, inputs: int = 240) -> StreamsStory:
    """A run of an application that processes exactly once; the last member processes the last tenth."""
    drawn = random.Random(seed)
    story = StreamsStory()
    values = drawn.sample(range(10**6), inputs)
    story.inputs = {(n % 2, n // 2): value for n, value in enumerate(values)}
    counts: dict[tuple[int, int], int] = {}
    at = {0: 0, 1: 0}
    each = inputs // 2
    for (partition, offset), value in sorted(story.inputs.items()):
        key = value % COUNTERS
        counts[partition, key] = counts.get((partition, key), 0) + 1
        member = LAST if offset > 0.9 * each else drawn.choice(LOAD)
        row = [at[partition], member, partition, offset, str(key), counts[partition, key], value]
        story.outputs.setdefault(partition, []).append(row)
        at[partition] += drawn.choice((1, 1, 1, 2))
    story.before = {0: each, 1: each}
    return story
