"""Tells small histories in lines of text, so that a test shows what happens and nothing else.

Every line is a time in seconds, who, and what:

    1.0 c1 leads 2 hw=5 c2=0.9 c3=?    c1 answers as leader of epoch 2; c2 last fetched at 0.9 s, c3 unknown;
                                       without voters all fetched just now; ``alone``: no other voter;
                                       ``leaving``: no voter itself; ``asked=0.5``: when it was asked;
                                       ``c2=0.9@7``: it has all below 7, not just what is committed;
                                       ``c2/d2=0.9``: on disk d2; ``disk=d1``: its own; ``end=7``: of its log;
                                       ``+c4/d4=30``: an observer that has all below 30
    1.0 c1 refuses                     c1 answers that it is not the leader; ``hangs``: it does not answer
    1.0 c2 file 2 leader=c1 vote=c1 disk=d9 cluster=x
    1.0 c1 metadata 1:1/d1,2/d2 3:1/d1 its log has records of voters of the epochs 1 and 3; ``snapshot``: the
                                       first is in a snapshot; ``unreadable``
    1.0 add 4/d4 ok 2.5                asked for at 1.0, answered at 2.5 (ok, info, fail or lost); ``remove``;
                                       ``code=7``: with which code
    1.0 feature kraft.version 1        asked for
    5.0 f1 kill c1 ok                  injected at 5.0, completed 0.1 s later (ok, info, fail or lost);
                                       ``cut=c1>c2,c2>c1``; ``was=d1 now=d2``: what its probe saw of a disk;
                                       ``version=4.0.0``: that an upgrade brings
    9.0 f1 heal ok                     the same for its heal
    1.0 c1 running                     also: ``paused``, ``exited 137``, ``exited 1 oom``,
                                       ``exited 1 started=7`` where that process was started at 7.0
    1.0 c1 log FATAL some text         also: ``log -`` for the last entry of a log of which not all was kept;
                                       | in a text begins a line
    1.0 send log-0/3 x100 ok           100 records, invoked 10 ms before (ok, fail, info or lost)
    1.0 poll log-0/3 x5                5 records returned
    1.0 phase done
    9.0 recover ok 900/60000 log-0/0:1:1,2:acked log-0/1:-:1:-   took/bound[/load], leader, ISR of 1,2

Node ``c1`` has the id 1.  A set-up comes first, unless there is to be none.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.history.packing import pack
from checkers.history.replicas import COLUMN_TYPES

WALL_MS = 1_700_000_000_000
EMPTY = pack(np.zeros(0), "base_offset", COLUMN_TYPES)
SETUP: dict[str, Any] = {
    "kafka_version": "4.3.1",
    "nodes": [{"name": f"c{i}", "id": i, "roles": ["broker", "controller"]} for i in (1, 2, 3)],
    "controller_fetch_timeout_ms": 2000,
    "observe_interval_ms": 250,
    "assumptions": {
        "acked_before": 100,
        "acked_after": 100,
        "invoked_during": 20,
        "fault_held_ms": 5000,
        "recovery_ms": 60000,
    },
    "expected": "valid",
    "expected_anomalies": [],
}

TimedFields = tuple[float, dict[str, Any]]
"""When, and the fields of the operation."""


def history_of(
    text: str,
    *,
    setup: dict[str, Any] | None = None,
    without_setup: bool = False,
    damage: tuple[str, ...] = (),
) -> History:
    """The history of a story; `setup` overrides fields of the set-up's value."""
    lines = [line.split("#")[0].split() for line in text.splitlines()]
    entries = [each for words in lines if words for each in _records_of(float(words[0]), words[1], words[2:])]
    if not without_setup:
        entries.insert(0, (0, {"f": "setup", "value": SETUP | (setup or {})}))
    ordered = sorted(entries, key=lambda entry: entry[0])
    usual: dict[str, Any] = {"process": "x", "type": OperationType.OK, "f": "observe"}
    operations = tuple(
        Operation(**(usual | {"index": i, "time_ns": ns(at)} | fields))
        for i, (at, fields) in enumerate(ordered)
    )
    return History("run", "2023-11-14T22:13:20Z", operations, damage)


def ns(seconds: float) -> int:
    """Seconds as nanoseconds."""
    return round(seconds * 1e9)


@pytest.fixture(scope="session")
def story() -> Callable[..., History]:
    return history_of


def _records_of(at: float, who: str, words: list[str]) -> Iterator[TimedFields]:
    if who in _OTHERS:
        yield from _OTHERS[who](at, words)
    elif who.startswith("f"):
        yield from _fault(at, who, words)
    else:
        for fields in _NODES[words[0]](at, who, words[1:]):
            yield at, {"node": who, **fields}


def _phase(at: float, words: list[str]) -> Iterator[TimedFields]:
    yield at, {"f": "phase", "key": words[0]}


def _send(at: float, words: list[str]) -> Iterator[TimedFields]:
    (topic, partition), count, outcome = words[0].split("/"), int(words[1][1:]), words[2]
    asked = [[int(partition), i] for i in range(count)]
    send = {"f": "send", "key": topic}
    yield at - 0.01, send | {"type": OperationType.INVOKE, "value": asked}
    if outcome == "ok":
        yield at, send | {"value": [[*entry, i, "ok"] for i, entry in enumerate(asked)]}
    elif outcome != "lost":
        yield at, send | {"type": OperationType(outcome), "value": asked, "error": "disconnected"}


def _poll(at: float, words: list[str]) -> Iterator[TimedFields]:
    (topic, partition), count = words[0].split("/"), int(words[1][1:])
    who = {"client": "kafka-python", "isolation": "read_committed"}
    yield at - 0.01, {"f": "poll", "type": OperationType.INVOKE, "key": topic, "value": who}
    records = [[int(partition), list(range(count)), list(range(count))]]
    yield at, {"f": "poll", "key": topic, "value": who | {"records": records}}


def _recover(at: float, words: list[str]) -> Iterator[TimedFields]:
    kind, numbers, *partitions = words
    took, bound, *load = numbers.split("/")
    value: dict[str, Any] = {"bound_ms": int(bound)}
    yield 0, {"f": "recover", "type": OperationType.INVOKE, "value": value}
    if partitions:
        recovered = [_recovered(text) for text in partitions if text != "none"]
        value = value | {"took_ms": int(took), "partitions": recovered}
        value |= {"load_per_cpu": float(load[0])} if load else {}
    error = None if kind == "ok" else "it took too long"
    yield at, {"f": "recover", "type": OperationType(kind), "value": value, "error": error}


def _recovered(text: str) -> dict[str, Any]:
    name, leader, isr, acked = text.split(":")
    topic, partition = name.split("/")
    return {
        "topic": topic,
        "partition": int(partition),
        "leader": None if leader == "-" else int(leader),
        "isr": [int(node) for node in isr.split(",")],
        "replicas": [1, 2],
        "write_acked": None if acked == "untried" else acked == "acked",
    }


def _fault(at: float, name: str, words: list[str]) -> Iterator[TimedFields]:
    kind, *others, outcome = words
    options = _options(others)
    targets = [word for word in others if "=" not in word]
    f = "heal" if kind == "heal" else "inject"
    fields = {"process": "nemesis", "f": f, "key": name}
    plan = {"kind": kind, "spec": {"version": options["version"]} if "version" in options else {}}
    cut = [pair.split(">") for pair in options["cut"].split(",")] if "cut" in options else None
    known = {} if kind == "heal" else {"targets": targets, "cut": cut or [[a, "c9"] for a in targets]}
    if "was" in options:
        seen = {"directory_id_before": options["was"], "directory_id_after": options["now"]}
        known["probe"] = seen | {"removed": []}
    yield at, fields | {"type": OperationType.INVOKE, "value": plan}
    if outcome == "fail":
        yield at + 0.1, fields | {"type": OperationType.FAIL, "value": plan, "error": "nobody left"}
    elif outcome != "lost":
        yield at + 0.1, fields | {"type": OperationType(outcome), "value": plan | known}


Node = Iterator[dict[str, Any]]


def _options(words: list[str]) -> dict[str, str]:
    return dict(word.split("=") for word in words if "=" in word)


def _leads(at: float, who: str, words: list[str]) -> Node:
    options = _options(words)
    asked = float(options.pop("asked", at - 0.01))
    high_watermark = int(options.pop("hw", 10))
    end = int(options.pop("end", high_watermark))
    itself = [] if "leaving" in words else [[int(who[1:]), options.pop("disk", None), end, -1, -1]]
    observers = [[*_voter(name[1:]), int(have), -1, -1] for name, have in options.items() if name[0] == "+"]
    options = {name: when for name, when in options.items() if name[0] != "+"}
    if "alone" not in words and not options:
        options = {name: str(at) for name in ("c1", "c2", "c3") if name != who}
    fetches = []
    for name, fetched in options.items():
        when, _, have = fetched.partition("@")
        fetches.append(
            [*_voter(name), int(have or high_watermark), -1 if when == "?" else _wall(float(when)), -1]
        )
    yield {
        "key": "quorum",
        "value": {
            "began_ns": ns(asked),
            "answer": "leader",
            "leader_id": int(who[1:]),
            "leader_epoch": int(words[0]),
            "high_watermark": high_watermark,
            "wall_ms": _wall(at),
            "voters": [*itself, *fetches],
            "observers": observers,
        },
    }


def _voter(text: str) -> tuple[int, str | None]:
    """``c4/d4``, or ``4`` where the disk is not known."""
    name, _, directory = text.partition("/")
    return int(name.lstrip("bc")), directory or None


def _metadata(_: float, __: str, words: list[str]) -> Node:
    value: dict[str, Any] = {"began_ns": 1, "topic": "__cluster_metadata", "partition": 0, "count": 0}
    if words == ["unreadable"]:
        yield {"key": "metadata-log", "value": value | {"batches": {}, "error": "gone"}}
        return
    snapshot = "snapshot" in words
    sets = [word.split(":") for word in words if ":" in word]
    records = [
        [10 * i, int(epoch), "KRAFT_VOTERS", {"voters": [_logged(voter) for voter in voters.split(",")]}]
        for i, (epoch, voters) in enumerate(sets)
    ]
    checkpoint = ["00000000000000000005-0000000001.checkpoint", records[:1]] if snapshot else None
    log = records[1:] if snapshot else records
    end = {"log_start": 0, "end": 10 * len(sets), "records": log, "checkpoint": checkpoint}
    yield {"key": "metadata-log", "value": value | {"batches": dict.fromkeys(COLUMN_TYPES, EMPTY)} | end}


def _logged(text: str) -> dict[str, Any]:
    voter, directory = _voter(text)
    return {"voterId": voter, "voterDirectoryId": directory, "endpoints": []}


def _changed(f: str) -> Callable[[float, list[str]], Iterator[TimedFields]]:
    def change_of_voter(at: float, words: list[str]) -> Iterator[TimedFields]:
        voter, directory = _voter(words[0])
        fields = {"process": f"admin-{at}", "f": f, "key": voter, "value": {"directory_id": directory}}
        yield at, fields | {"type": OperationType.INVOKE}
        if words[1] != "lost":
            answered = {"code": int(_options(words).get("code", 0)), "message": None, "took_ms": 1}
            value = {"directory_id": directory} | answered
            yield float(words[2]), fields | {"type": OperationType(words[1]), "value": value}

    return change_of_voter


def _feature(at: float, words: list[str]) -> Iterator[TimedFields]:
    fields = {"process": "admin", "f": "update-feature", "key": words[0]}
    yield at, fields | {"type": OperationType.INVOKE, "value": {"level": int(words[1])}}


def _wall(seconds: float) -> int:
    return WALL_MS + round(seconds * 1000)


def _refuses(at: float, _: str, __: list[str]) -> Node:
    yield {"key": "quorum", "value": {"began_ns": ns(at), "answer": "not-leader"}}


def _hangs(at: float, _: str, __: list[str]) -> Node:
    yield {"key": "quorum", "value": {"began_ns": ns(at), "answer": "error"}}


def _file(at: float, _: str, words: list[str]) -> Node:
    options = _options(words)
    ids = {key: int(options[key][1:]) if key in options else -1 for key in ("leader", "vote")}
    yield {
        "key": "quorum-state",
        "value": {
            "began_ns": ns(float(options.get("asked", at - 0.001))),
            "directory_id": options.get("disk"),
            "leader_id": ids["leader"],
            "leader_epoch": None if words[0] == "-" else int(words[0]),
            "voted_id": ids["vote"],
            "voted_directory_id": None,
            "cluster_id": options.get("cluster"),
        },
    }


def _running(_: float, __: str, words: list[str]) -> Node:
    started_at = _options(words).get("started", "")
    value = {"status": "running", "exit_code": None, "oom": False, "started_at": started_at}
    yield {"key": "node", "value": value}


def _created(_: float, __: str, ___: list[str]) -> Node:
    never = "0001-01-01T00:00:00Z"
    yield {"key": "node", "value": {"status": "created", "exit_code": 0, "oom": False, "started_at": never}}


def _paused(_: float, __: str, ___: list[str]) -> Node:
    yield {"key": "node", "value": {"status": "paused", "exit_code": None, "oom": False, "started_at": ""}}


def _exited(_: float, __: str, words: list[str]) -> Node:
    started_at = _options(words).get("started", "")
    oom = "oom" in words
    yield {
        "key": "node",
        "value": {"status": "exited", "exit_code": int(words[0]), "oom": oom, "started_at": started_at},
    }


def _log(_: float, __: str, words: list[str]) -> Node:
    if words == ["-"]:
        yield {"key": "node-log", "value": {"line": None, "text": "12 more"}}
        return
    text = " ".join(words[1:]).replace("|", "\n")
    value = {"line": 7, "at": "2023-11-14 22:13:25,500", "level": words[0], "text": text}
    yield {"key": "node-log", "value": value}


_OTHERS = {
    "phase": _phase,
    "send": _send,
    "poll": _poll,
    "recover": _recover,
    "add": _changed("add-voter"),
    "remove": _changed("remove-voter"),
    "feature": _feature,
}
_NODES = {
    "leads": _leads,
    "refuses": _refuses,
    "hangs": _hangs,
    "file": _file,
    "metadata": _metadata,
    "created": _created,
    "running": _running,
    "paused": _paused,
    "exited": _exited,
    "log": _log,
}
