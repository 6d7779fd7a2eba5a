"""Tells histories of Kafka's transactions in lines of text; every line is a few milliseconds.

p0 init a                          process 0 initialises transactional id a; ``p0 > init a`` only begins
p0 txn a 0@7=1 1@3=2               a transaction that commits: partition@offset=value, ``-`` for no offset
p0 txn a 0@7=1 fail                or ``info``, or ``open``: it is never complete
p0 txn a 1@3=2 <0@7=1              polled within the transaction; ``(0@7`` is what it reports as consumed
p0 txn a 0@7=1 asked=5            its end was asked for at 5 ms, the time of operation 5
p0 > txn a 0@7=1                   only begins; the next ``p0 < txn …`` completes it
p0 send 0@5=9                      one record by itself
p9 assign 0@0                      process 9 begins to read
p9 poll 0@5=9                      at read_committed
c final 0 0..9 0@7=1               final read of partition 0; c reads committed records, u all of them
phase                              of the final reads begins
setup unclean=yes compact=yes      comes first where it is given
"""

from typing import Any

from checkers.history.operations import History, Operation, OperationType
from checkers.transactional.transactions import check_transactions
from checkers.verdict.verdict import Anomaly, CheckerResult

TOPIC = "txn-0"
MS = 1_000_000
CLIENT = "kafka-python"
ISOLATIONS = {"c": "read_committed", "u": "read_uncommitted"}
_T = OperationType


class Story:
    """Collects the operations of a history."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def add(self, process: int | str, kind: OperationType, f: str, key: Any, value: Any) -> None:
        index = len(self.operations)
        self.operations.append(Operation(index, index * MS, process, kind, f, key, value))

    def both(self, who: int | str, f: str, asked: Any, kind: OperationType, answer: Any) -> None:
        self.add(who, _T.INVOKE, f, TOPIC, asked)
        self.add(who, kind, f, TOPIC, answer)

    def add_line(self, text: str) -> None:
        who, *words = text.split()
        if who == "setup":
            self.setup(words)
        elif who == "phase":
            self.add("runner", _T.OK, "phase", "final-read", None)
        elif who in ISOLATIONS:
            self.final(who, words[1:])
        else:
            stages = {">": (_T.INVOKE,), "<": (_T.OK,)}.get(words[0], (_T.INVOKE, _T.OK))
            verb, *rest = words[1:] if words[0] in "<>" else words
            getattr(self, verb)(int(who[1:]), rest, stages)

    def setup(self, words: list[str]) -> None:
        options = dict(word.split("=") for word in words)
        topic = {"cleanup.policy": "compact"} if "compact" in options else {}
        config = {"unclean.leader.election.enable": "true"} if "unclean" in options else {}
        topics = [{"name": TOPIC, "partitions": 2, "config": topic}]
        workload = {"acks": "all", "keys": 5}
        value = {"kafka_version": "4.3.1", "topics": topics, "config": config, "workload": workload}
        self.add("runner", _T.OK, "setup", None, value)

    def init(self, process: int, words: list[str], stages: tuple[OperationType, ...]) -> None:
        kind = _T(words[1]) if len(words) > 1 else _T.OK
        for stage in stages:
            self.add(
                process, kind if stage is _T.OK else stage, "init-transactions", words[0], {"client": CLIENT}
            )

    def txn(self, process: int, words: list[str], stages: tuple[OperationType, ...]) -> None:
        asked_at = [int(words.pop()[6:]) * MS] if words[-1].startswith("asked=") else []
        end = words.pop() if words[-1] in {"fail", "info", "open"} else "ok"
        sends = [_record(word) for word in words[1:] if word[0] not in "<("]
        polls = [["poll", TOPIC, [_chunk(word[1:])]] for word in words[1:] if word[0] == "<"]
        consumed = [[TOPIC, *_chunk(f"{word[1:]}=0")] for word in words[1:] if word[0] == "("]
        asked = [["send", TOPIC, partition, value] for partition, _, value in sends]
        done = [["send", TOPIC, partition, value, offset] for partition, offset, value in sends]
        base = {"client": CLIENT, "end": "commit"} | ({"consumed": consumed} if consumed else {})
        if _T.INVOKE in stages:
            self.add(process, _T.INVOKE, "txn", words[0], base | {"mops": asked})
        if _T.OK in stages and end != "open":
            ended = {"mops": done + polls, "ended": None} | ({"ending_ns": asked_at[0]} if asked_at else {})
            self.add(process, _T(end), "txn", words[0], base | ended)

    def send(self, process: int, words: list[str], stages: tuple[OperationType, ...]) -> None:
        records = [_record(word) for word in words]
        asked = [[partition, value] for partition, _, value in records]
        done = [[partition, value, offset, "ok"] for partition, offset, value in records]
        for stage in stages:
            self.add(process, stage, "send", TOPIC, asked if stage is _T.INVOKE else done)

    def assign(self, process: int, words: list[str], _: tuple[OperationType, ...]) -> None:
        places = [[int(part) for part in word.split("@")] for word in words]
        self.both(process, "assign", places, _T.OK, places)

    def poll(self, process: int, words: list[str], _: tuple[OperationType, ...]) -> None:
        who = {"client": CLIENT, "isolation": "read_committed"}
        self.both(process, "poll", who, _T.OK, who | {"records": [_chunk(word) for word in words]})

    def final(self, reader: str, words: list[str]) -> None:
        asked = {"client": CLIENT, "isolation": ISOLATIONS[reader], "partition": int(words[0])}
        start, _, end = words[1].partition("..")
        kind = _T.INFO if "info" in words else _T.OK
        position = 0 if kind is _T.INFO else int(end)
        limits = {"start": int(start), "end": int(end), "position": position}
        records = [_chunk(word) for word in words[2:] if word != "info"]
        self.both(f"reader-{reader}", "final-read", asked, kind, asked | limits | {"records": records})


def _record(word: str) -> tuple[int, int | None, int]:
    place, _, value = word.partition("=")
    partition, _, offset = place.partition("@")
    return int(partition), None if offset == "-" else int(offset), int(value)


def _chunk(word: str) -> list[Any]:
    partition, offset, value = _record(word)
    return [partition, [offset], [value]]


def history_of(text: str) -> History:
    """The history that a text describes."""
    story = Story()
    for line in filter(None, map(str.strip, text.splitlines())):
        story.add_line(line)
    return History("run", "2026-11-20T21:56:57Z", tuple(story.operations))


def judged(text: str) -> CheckerResult:
    """The transaction checker's result for a text."""
    return check_transactions(history_of(text))


def of(result: CheckerResult, identity: str) -> Anomaly:
    """The one anomaly with an id."""
    (anomaly,) = (anomaly for anomaly in result.anomalies if anomaly.id == identity)
    return anomaly
