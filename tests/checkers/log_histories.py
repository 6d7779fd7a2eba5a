"""Tells histories of a log in lines of text; the n-th line happens at n ms.

A record is ``partition@offset=value``; the offset is ``-`` (acknowledged without one), ``x`` (failed) or
``?`` (unknown) where there is none.

    setup acks=1 idempotent=no unclean=yes topic_unclean=no version=3.8.1 partitions=2
    p0 > 0=1 0=2             process 0 begins to send
    p0 < 0@7=1 0@?=2         and is answered, half a millisecond into the line
    p0 ! info                or the whole operation ended so
    p0 send 0@7=1            both, within the line
    p0 begin 0=1 0=2         process 0 begins a transaction that sends
    p0 commit 0@7=1 0@8=2    and is answered so; also ``abort``, and ``doubt`` where it does not know
    p0 txn abort 0@7=1 <0@3=9    both, within the line; ``<`` is polled within the transaction
    r9 assign 0@0            process 9 begins to read at offset 0
    r9 poll 0@7=1 0@8=2      one poll, read_uncommitted; ``assigned:0@7``: its group assigned it anew
    r9 committed 0@7=1       one poll, read_committed
    a final 0 0..9 0@7=1     final read of partition 0, listed from 0 to 9; ``0..9:8`` stops at 8
    epoch 0 5                a broker reports that partition 0 is in leader epoch 5
    p0 run 0=5x3 7x2 9x1     sends 5, 6 and 7, acknowledged at offsets 7, 8 and 9; ``!`` for offsets: info
    epochs 0 0@0 5@17        a replica noted of partition 0 that epoch 5 began at offset 17
    delete ok 0@5            records below offset 5 are deleted on request; also info, fail, lost
    f1 inject kill           also ``f1 inject-fail kill``, ``f1 heal kill``, ``f1 heal-info kill``
    phase load

    setup cleanup=compact keys=2 tombstones=3 marks=1 retention=1000 durable=4 workers=5

A text that begins with ``foreign`` has no set-up; elsewhere the set-up, with one partition, comes first where
none is given.  Readers a, b, c, d are the two clients at the two isolation levels.
"""

from collections.abc import Callable
from typing import Any

from checkers.history.operations import History, Operation, OperationType
from checkers.logs.log import check_log
from checkers.verdict.verdict import Anomaly, CheckerResult

MS = 1_000_000
READERS = {
    "a": ("kafka-python", "read_uncommitted"),
    "b": ("confluent-kafka", "read_uncommitted"),
    "c": ("kafka-python", "read_committed"),
    "d": ("confluent-kafka", "read_committed"),
}
TOPIC = "log-0"
_TOPIC_CONFIG = {
    "cleanup": "cleanup.policy",
    "retention": "retention.ms",
    "bytes": "retention.bytes",
    "marks": "delete.retention.ms",
}
Type = OperationType


class Story:
    """Collects operations; `line` is the line being added."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.line = 0

    def add(
        self, process: int | str, kind: Type, f: str, key: Any, value: Any, *, late: bool = False
    ) -> None:
        """Add one operation at the line's beginning or, late, in its middle."""
        time_ns = self.line * MS + (MS // 2 if late else 0)
        self.operations.append(Operation(len(self.operations), time_ns, process, kind, f, key, value))

    def both(self, process: int | str, f: str, asked: Any, kind: Type, answer: Any) -> None:
        """Add an invocation and its completion."""
        self.add(process, Type.INVOKE, f, TOPIC, asked)
        self.add(process, kind, f, TOPIC, answer, late=True)

    def add_line(self, text: str) -> None:
        """Add what one line describes."""
        self.line += 1
        who, *words = text.split()
        if who in _SINGLE:
            _SINGLE[who](self, words)
        elif who in READERS:
            self.final(who, words[1:])
        elif who[0] == "f":
            self.fault(who, *words)
        else:
            _VERBS[words[0]](self, int(who[1:]), words[1:])

    def setup(self, words: list[str]) -> None:
        options = dict(word.split("=") for word in words)
        name = "unclean.leader.election.enable"
        flags = {"yes": "true", "no": "false"}
        config = {name: flags[options["unclean"]]} if "unclean" in options else {}
        topic = {name: flags[options["topic_unclean"]]} if "topic_unclean" in options else {}
        topic |= {key: options[word] for word, key in _TOPIC_CONFIG.items() if word in options}
        partitions = int(options.get("partitions", "1"))
        value = {
            "kafka_version": options.get("version", "4.3.1"),
            "topics": [{"name": TOPIC, "partitions": partitions, "config": topic}],
            "config": config,
            "workload": {
                "acks": options.get("acks", "all"),
                "idempotent": options.get("idempotent") != "no",
                "pipelined": options.get("pipelined") == "yes",
                **({"keys": int(options["keys"])} if "keys" in options else {}),
                **({"tombstones": int(options["tombstones"])} if "tombstones" in options else {}),
                **({"durable_processes": [int(options["durable"])]} if "durable" in options else {}),
                **({"workers": int(options["workers"])} if "workers" in options else {}),
            },
        }
        self.add("runner", Type.OK, "setup", None, value)

    def phase(self, words: list[str]) -> None:
        self.add("runner", Type.OK, "phase", words[0], None)

    def epoch(self, words: list[str]) -> None:
        partition, epoch = map(int, words)
        seen = {"began_ns": self.line * MS, "topics": {TOPIC: [[partition, 1, epoch, [1], [1], None]]}}
        self.add("observer-1", Type.OK, "observe", "partitions", seen)

    def epochs(self, words: list[str]) -> None:
        entries = [[int(part) for part in word.split("@")] for word in words[1:]]
        noted = {"node": "n1", "topic": TOPIC, "partition": int(words[0]), "entries": entries}
        self.add("observer-replicas", Type.OK, "observe", "leader-epochs", noted)

    def delete(self, words: list[str]) -> None:
        places = [[int(part) for part in word.split("@")] for word in words[1:]]
        self.add("admin", Type.INVOKE, "delete-records", TOPIC, places)
        if words[0] != "lost":
            self.add("admin", Type(words[0]), "delete-records", TOPIC, places, late=True)

    def foreign(self, _: list[str]) -> None:
        """Nothing: there is no set-up."""

    def run(self, process: int, words: list[str]) -> None:
        partition, _, values = words[0].partition("=")
        first, count = map(int, values.split("x"))
        asked = {"partition": int(partition), "first": first, "count": count}
        if words[1:] == ["!"]:
            self.both(process, "send", asked, Type.INFO, asked)
            return
        offsets = [[int(part) for part in word.split("x")] for word in words[1:]]
        self.both(process, "send", asked, Type.OK, {**asked, "offsets": offsets})

    def invoke(self, process: int, words: list[str]) -> None:
        self.add(process, Type.INVOKE, "send", TOPIC, [_pair(word) for word in words])

    def answer(self, process: int, words: list[str]) -> None:
        records = [_answer(word) for word in words]
        self.add(process, _together(records), "send", TOPIC, records, late=True)

    def end(self, process: int, words: list[str]) -> None:
        self.add(process, Type(words[0]), "send", TOPIC, None, late=True)

    def send(self, process: int, words: list[str]) -> None:
        self.invoke(process, [word[: word.index("@")] + word[word.index("=") :] for word in words])
        self.answer(process, words)

    def assign(self, process: int, words: list[str]) -> None:
        places = [[int(part) for part in word.split("@")] for word in words]
        self.both(process, "assign", places, Type.OK, places)

    def poll(self, process: int, words: list[str], isolation: str = "read_uncommitted") -> None:
        who = {"client": "kafka-python", "isolation": isolation}
        places = [word.partition(":")[2] for word in words if word.startswith("assigned:")]
        assigned = [[int(part) for part in place.split("@")] for place in places if place]
        records = [_chunk(word) for word in words if not word.startswith("assigned:")]
        value = {**who, "records": records, **({"assigned": assigned} if places else {})}
        self.both(process, "poll", who, Type.OK, value)

    def committed(self, process: int, words: list[str]) -> None:
        self.poll(process, words, "read_committed")

    def begin(self, process: int, words: list[str]) -> None:
        value = {"client": "kafka-python", "end": "commit", "mops": [_mop(word)[:4] for word in words]}
        self.add(process, Type.INVOKE, "txn", f"tx-{process}", value)

    def end_transaction(self, process: int, words: list[str]) -> None:
        kind = {"commit": Type.OK, "abort": Type.FAIL, "doubt": Type.INFO}[words[0]]
        value = {"client": "kafka-python", "end": "commit", "mops": [_mop(word) for word in words[1:]]}
        self.add(process, kind, "txn", f"tx-{process}", value, late=True)

    def txn(self, process: int, words: list[str]) -> None:
        asked = [
            word if word[0] == "<" else word[: word.index("@")] + word[word.index("=") :]
            for word in words[1:]
        ]
        self.begin(process, [word for word in asked if word[0] != "<"])
        self.end_transaction(process, words)

    def final(self, reader: str, words: list[str]) -> None:
        client, isolation = READERS[reader]
        asked = {"client": client, "isolation": isolation, "partition": int(words[0])}
        start, _, rest = words[1].partition("..")
        end, _, position = rest.partition(":")
        kind = Type.INFO if position and int(position) < int(end) else Type.OK
        limits = {"start": int(start), "end": int(end), "position": int(position or end)}
        records = [_chunk(word) for word in words[2:]]
        self.both(f"reader-{reader}", "final-read", asked, kind, {**asked, **limits, "records": records})

    def fault(self, name: str, verb: str, kind: str) -> None:
        f, _, result = verb.partition("-")
        self.add("nemesis", Type.INVOKE, f, name, {"kind": kind, "spec": {}})
        self.add("nemesis", Type(result or "ok"), f, name, {"kind": kind, "spec": {}}, late=True)


_Verb = Callable[[Story, int, list[str]], None]
_SINGLE: dict[str, Callable[[Story, list[str]], None]] = {
    "setup": Story.setup,
    "phase": Story.phase,
    "epoch": Story.epoch,
    "epochs": Story.epochs,
    "delete": Story.delete,
    "foreign": Story.foreign,
}
_VERBS: dict[str, _Verb] = {
    ">": Story.invoke,
    "<": Story.answer,
    "!": Story.end,
    "send": Story.send,
    "run": Story.run,
    "assign": Story.assign,
    "poll": Story.poll,
    "committed": Story.committed,
    "begin": Story.begin,
    "commit": lambda story, process, words: story.end_transaction(process, ["commit", *words]),
    "abort": lambda story, process, words: story.end_transaction(process, ["abort", *words]),
    "doubt": lambda story, process, words: story.end_transaction(process, ["doubt", *words]),
    "txn": Story.txn,
}


def _value(text: str) -> Any:
    return int(text) if text.isdigit() else text


def _pair(word: str) -> list[Any]:
    partition, _, value = word.partition("=")
    return [int(partition), _value(value)]


def _answer(word: str) -> list[Any]:
    place, _, value = word.partition("=")
    partition, _, offset = place.partition("@")
    outcome = {"x": "fail", "?": "info"}.get(offset, "ok")
    return [int(partition), _value(value), int(offset) if offset.isdigit() else None, outcome]


def _mop(word: str) -> list[Any]:
    if word[0] == "<":
        return ["poll", TOPIC, [_chunk(word[1:])]]
    partition, value, offset, _ = _answer(word)
    return ["send", TOPIC, partition, value, offset]


def _together(records: list[list[Any]]) -> Type:
    outcomes = {record[3] for record in records}
    return Type(outcomes.pop()) if len(outcomes) == 1 else Type.INFO


def _chunk(word: str) -> list[Any]:
    partition, value, offset, _ = _answer(word)
    return [partition, [offset], [value]]


def history_of(text: str, damage: tuple[str, ...] = ()) -> History:
    """The history that a text describes."""
    story = Story()
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    if not lines or not lines[0].startswith(("setup", "foreign")):
        story.setup([])
    for line in lines:
        story.add_line(line)
    return History("run", "2026-11-20T21:56:57Z", tuple(story.operations), damage)


def judged(text: str) -> CheckerResult:
    """The log checker's result for a text."""
    return check_log(history_of(text))


def ids_of(text: str) -> dict[str, int]:
    """How many anomalies of each id the log checker finds in a text."""
    return judged(text).counts


def only(result: CheckerResult) -> Anomaly:
    """The one anomaly of a result."""
    (anomaly,) = result.anomalies
    return anomaly
