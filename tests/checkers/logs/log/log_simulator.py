"""Simulates a correct log: idempotent producers, consumers, a final read by every reader.

A history of it is valid, whatever the seed; a mutation of such a history is what a broken log would show.
"""

import random
from typing import Any

from checkers.history.operations import History, Operation, OperationType
from tests.checkers.log_histories import READERS, TOPIC

Type = OperationType
PRODUCERS = 3
CONSUMERS = 2
CONSUMER = 100


class Simulation:
    """A log of some partitions, and the history that its users write."""

    def __init__(self, seed: int, partitions: int, steps: int) -> None:
        self._random = random.Random(seed)
        self._logs: list[list[int]] = [[] for _ in range(partitions)]
        self._operations: list[Operation] = []
        self._time_ns = 0
        self._outstanding: dict[int, list[list[Any]]] = {}
        self._producers = list(range(PRODUCERS))
        self._sequence = 0
        self._positions: dict[int, list[int]] = {}
        self._steps = steps

    def history(self) -> History:
        """Simulate all steps; returns the history."""
        workload = {"acks": "all", "idempotent": True}
        topics = [{"name": TOPIC, "partitions": len(self._logs)}]
        setup = {"kafka_version": "4.3.1", "topics": topics, "workload": workload}
        self._add("runner", Type.OK, "setup", None, setup)
        for _ in range(self._steps):
            self._random.choice((self._produce, self._produce, self._consume))()
        for process in list(self._outstanding):
            self._complete(process)
        self._time_ns += 1  # a record acknowledged in the nanosecond of a final read need not be in it
        for partition in range(len(self._logs)):
            for reader in READERS:
                self._final_read(partition, reader)
        return History("run", "", tuple(self._operations))

    def _add(self, process: int | str, kind: Type, f: str, key: Any, value: Any) -> None:
        self._time_ns += self._random.randrange(3)
        self._operations.append(Operation(len(self._operations), self._time_ns, process, kind, f, key, value))

    def _produce(self) -> None:
        slot = self._random.randrange(PRODUCERS)
        process = self._producers[slot]
        if process not in self._outstanding:
            self._invoke(process)
        elif self._complete(process) is Type.INFO:
            self._producers[slot] += PRODUCERS

    def _invoke(self, process: int) -> None:
        records = []
        for _ in range(self._random.randint(1, 3)):
            self._sequence += 1
            records.append([self._random.randrange(len(self._logs)), self._sequence])
        self._outstanding[process] = records
        self._add(process, Type.INVOKE, "send", TOPIC, records)

    def _complete(self, process: int) -> Type:
        """Append in order; what fails is not appended, and what is unknown may be."""
        answers = [
            [partition, value, *self._append(partition, value)]
            for partition, value in self._outstanding.pop(process)
        ]
        outcomes = {answer[3] for answer in answers}
        kind = Type(outcomes.pop()) if len(outcomes) == 1 else Type.INFO
        self._add(process, kind, "send", TOPIC, answers)
        return kind

    def _append(self, partition: int, value: int) -> tuple[int | None, str]:
        fate = self._random.choices(("ok", "fail", "info"), (16, 1, 2))[0]
        log = self._logs[partition]
        if fate == "ok" or (fate == "info" and self._random.random() < 0.5):
            log.append(value)
        return (len(log) - 1 if fate == "ok" else None), fate

    def _consume(self) -> None:
        process = CONSUMER + self._random.randrange(CONSUMERS)
        if process not in self._positions or self._random.random() < 0.1:
            self._positions[process] = [self._random.randint(0, len(log)) for log in self._logs]
            places = [[partition, offset] for partition, offset in enumerate(self._positions[process])]
            self._add(process, Type.INVOKE, "assign", TOPIC, places)
            self._add(process, Type.OK, "assign", TOPIC, places)
        reader = {"client": "kafka-python", "isolation": "read_uncommitted"}
        self._add(process, Type.INVOKE, "poll", TOPIC, reader)
        records = [self._fetch(process, partition) for partition in range(len(self._logs))]
        self._add(process, Type.OK, "poll", TOPIC, {**reader, "records": records})

    def _fetch(self, process: int, partition: int) -> list[Any]:
        first = self._positions[process][partition]
        last = self._random.randint(first, len(self._logs[partition]))
        self._positions[process][partition] = last
        return [partition, list(range(first, last)), self._logs[partition][first:last]]

    def _final_read(self, partition: int, reader: str) -> None:
        client, isolation = READERS[reader]
        asked = {"client": client, "isolation": isolation, "partition": partition}
        log = self._logs[partition]
        records = [[partition, list(range(len(log))), list(log)]]
        self._add(f"reader-{reader}", Type.INVOKE, "final-read", TOPIC, asked)
        limits = {"start": 0, "end": len(log), "position": len(log)}
        self._add(f"reader-{reader}", Type.OK, "final-read", TOPIC, {**asked, **limits, "records": records})
