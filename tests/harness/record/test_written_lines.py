"""Structs that recorders take are written as the dictionaries were that they stand for."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.history.commits import Committing
from checkers.history.faults import FaultInjected, FaultProbed, FaultRefused, GambitEnded, PlannedFault
from checkers.history.observed import (
    COMMITS,
    ENDS,
    LEADING,
    OFFSETS,
    PARTITIONS,
    REASSIGNMENTS,
    STARTS,
    CommitsLeft,
    CommitsSeen,
    CommitsUnread,
    CoordinatorsSeen,
    EndsSeen,
    KnownProducer,
    LeaderEpochsSeen,
    LeadingSeen,
    NodeSeen,
    OffsetsSeen,
    PartitionProducers,
    PartitionsSeen,
    ProducersSeen,
    ReassignmentsSeen,
    StartsSeen,
    TopicConfigsSeen,
)
from checkers.history.operations import Operation, OperationType
from checkers.history.polls import (
    FinalRead,
    FinalReadPart,
    FinalReadRequested,
    GroupPollRequested,
    Isolation,
    Membership,
    Polled,
    PollRequested,
)
from checkers.history.quorum import QUORUM, QUORUM_STATE, QuorumStateSeen, quorum_seen
from checkers.history.replicas import (
    REPLICA,
    AbortedSeen,
    AbortedTransaction,
    FoldersSeen,
    MetadataLogSeen,
    MetadataLogUncopied,
    MetadataLogUnread,
    MetadataRecord,
    ReplicaSeen,
    ReplicaUnread,
    SegmentIndex,
)
from checkers.history.runner import DeathSeen, HarnessFailed, JournalEnded, JournalOpened, StartSeen
from checkers.history.transactions import (
    ProducerInitialised,
    ScriptPlayed,
    TxnEnded,
    TxnOffsets,
    TxnSendRequested,
)
from checkers.logs.partitions.kept_commits import COMMITS_LEFT

KIND, ISOLATION = "kafka-python", Isolation.READ_COMMITTED
WHO: dict[str, Any] = {"client": "kafka-python", "isolation": "read_committed"}
GROUP: dict[str, Any] = WHO | {"group": "g"}
RECORDS: list[tuple[int, list[int], list[Any]]] = [(2, [7, 8], [3, "x"])]
READ: dict[str, Any] = {"partition": 2, "start": 0, "end": 9, "position": 9, "records": RECORDS}
LOG: dict[str, Any] = {"began_ns": 5, "topic": "__cluster_metadata", "partition": 0}
UNREAD: dict[str, Any] = {"count": 0, "batches": {}, "error": "gone"}
COMMIT: dict[str, Any] = {"client": KIND, "topic": "t", "offsets": [(0, 4)]}


def polled(**more: Any) -> Polled:
    return Polled(client=KIND, isolation=ISOLATION, records=RECORDS, **more)


@pytest.mark.parametrize(
    ("value", "before"),
    [
        (PollRequested(KIND, ISOLATION), WHO),
        (polled(), WHO | {"records": RECORDS}),
        (GroupPollRequested(KIND, ISOLATION, "g"), GROUP),
        (polled(group="g"), GROUP | {"records": RECORDS}),
        (
            polled(group="g", assigned=[(0, 4)], membership=None),
            GROUP | {"records": RECORDS, "assigned": [(0, 4)], "membership": None},
        ),
        (
            polled(group="g", membership=Membership("m", 3)),
            GROUP | {"records": RECORDS, "membership": ("m", 3)},
        ),
        (FinalReadRequested(KIND, ISOLATION, 2), WHO | {"partition": 2}),
        (FinalRead(KIND, ISOLATION, 2, 0, 9, 9, RECORDS), WHO | READ),
        (FinalReadPart(KIND, ISOLATION, 2, 0, 9, 9, []), WHO | READ | {"records": []}),
        (
            Committing(client=KIND, topic="t", offsets=[(0, 4)], membership=Membership("m", 3)),
            COMMIT | {"membership": ("m", 3)},
        ),
        (
            Committing(client=KIND, topic="t", offsets=[(0, 4)], membership=None, outsider=True),
            COMMIT | {"membership": None, "outsider": True},
        ),
        (JournalOpened(None), {"role": None}),
        (JournalEnded(7), {"lines": 7}),
        (JournalEnded(7, (("w", None, 3),)), {"lines": 7, "journals": [("w", None, 3)]}),
        (StartSeen(ready=True, took_s=2.5), {"ready": True, "took_s": 2.5}),
        (
            StartSeen(ready=False, missing="a", took_s=2.5, load_per_cpu=0.0, sentences=("a",), died=()),
            {"ready": False, "waited_for": "a", "took_s": 2.5, "load_per_cpu": 0.0}
            | {"sentences": ["a"], "died": []},
        ),
        (DeathSeen("n1", 1, "FATAL"), {"node": "n1", "exit_code": 1, "said": "FATAL"}),
        (GambitEnded("k", 3, 2, ("f",)), {"kind": "k", "planned": 3, "made": 2, "faults": ["f"]}),
        (HarnessFailed("e"), {"error": "e"}),
        (
            NodeSeen("exited", 137, oom=False, started_at="2026"),
            {"status": "exited", "exit_code": 137, "oom": False, "started_at": "2026"},
        ),
        (StartsSeen(5, {"t": [(0, 0, 9)]}), {"began_ns": 5, "topics": {"t": [[0, 0, 9]]}}),
        (
            LeadingSeen(5, 6, {"t": [(0, 1, 2, 0)]}),
            {"began_ns": 5, "asked_ns": 6, "topics": {"t": [[0, 1, 2, 0]]}},
        ),
        (FoldersSeen(5, [("t-0", "id")]), {"began_ns": 5, "folders": [["t-0", "id"]]}),
        (FoldersSeen(5, [], ["t-0"]), {"began_ns": 5, "folders": [], "unread": ["t-0"]}),
        (FoldersSeen(5, [], []), {"began_ns": 5, "folders": [], "unread": []}),
        (TopicConfigsSeen(5, {"t": {"a": "b"}}), {"began_ns": 5, "topics": {"t": {"a": "b"}}}),
        (CoordinatorsSeen(5, ("g",), None), {"began_ns": 5, "groups": ["g"], "transactional_ids": None}),
        (
            ProducersSeen(5, {"t": [PartitionProducers(0, 0, [KnownProducer(7, 1, 3)])]}),
            {"began_ns": 5, "topics": {"t": [[0, 0, [[7, 1, 3]]]]}},
        ),
        (
            LeaderEpochsSeen(
                began_ns=5, node="n1", topic="t", partition=0, directory_id=None, entries=[(0, 1)]
            ),
            {"began_ns": 5, "node": "n1", "topic": "t", "partition": 0, "directory_id": None}
            | {"entries": [[0, 1]]},
        ),
        (
            AbortedSeen(
                began_ns=5,
                topic="t",
                partition=0,
                segments=[SegmentIndex(0, [AbortedTransaction(7, 1, 4, 5)]), SegmentIndex(9, [], "rest")],
            ),
            {"began_ns": 5, "topic": "t", "partition": 0}
            | {"segments": [[0, [[7, 1, 4, 5]], None], [9, [], "rest"]], "error": None},
        ),
        (
            CommitsUnread(5, 0, error="gone"),
            {"began_ns": 5, "partition": 0, "end": 0, "epoch": -1, "error": "gone"},
        ),
        (
            ReplicaUnread(began_ns=5, topic="t", partition=0, error="gone"),
            {"began_ns": 5, "topic": "t", "partition": 0} | UNREAD,
        ),
        (
            MetadataLogUnread(began_ns=5, topic="m", partition=0, error="gone", decoder_error="gone"),
            {"began_ns": 5, "topic": "m", "partition": 0}
            | UNREAD
            | {"records": [], "checkpoint": None, "decoder_error": "gone"},
        ),
        (
            MetadataLogUncopied(began_ns=5, error="gone", decoder_error="gone"),
            {"topic": "__cluster_metadata", "partition": 0, "count": 0, "batches": {}}
            | {"began_ns": 5, "error": "gone", "decoder_error": "gone"},
        ),
        (
            MetadataLogSeen(
                **LOG,
                count=0,
                batches={},
                records=[MetadataRecord(3, 1, "A_RECORD", {"a": 1})],
                checkpoint=("c", []),
            ),
            LOG
            | {"topic_id": None, "log_start": None, "end": None, "segments": 0, "active": None}
            | {"left": None, "bytes": 0, "count": 0, "tail": None, "corrupt": [], "error": None}
            | {"batches": {}, "records": [[3, 1, "A_RECORD", {"a": 1}]]}
            | {"checkpoint": ["c", []], "decoder_error": None},
        ),
        (
            TxnEnded(
                client=KIND,
                end="commit",
                mops=[TxnSendRequested("t", 0, 5), TxnOffsets("g", "s", [(0, 4)])],
                consumed=[("s", 0, [3], [2])],
                ended=None,
                ending_ns=None,
                version=2,
            ),
            {"client": KIND, "end": "commit", "mops": [["send", "t", 0, 5], ["offsets", "g", "s", [[0, 4]]]]}
            | {"consumed": [["s", 0, [3], [2]]], "ended": None, "ending_ns": None, "version": 2},
        ),
        (
            ProducerInitialised(client="raw", timeout_ms=30),
            {"client": "raw", "timeout_ms": 30, "producer_id": None, "epoch": None},
        ),
        (ScriptPlayed(2, late_produce_error=48), {"transaction_version": 2, "late_produce_error": 48}),
    ],
)
def test_a_value_is_written_as_before(value: msgspec.Struct, before: dict[str, Any]) -> None:
    assert msgspec.json.encode(value) == msgspec.json.encode(before)
    assert msgspec.json.decode(msgspec.json.encode(before), type=type(value)) == value


SEEN: dict[str, Callable[[Any], msgspec.Struct]] = {
    QUORUM: quorum_seen,
    QUORUM_STATE: partial(msgspec.convert, type=QuorumStateSeen),
    PARTITIONS: partial(msgspec.convert, type=PartitionsSeen),
    REASSIGNMENTS: partial(msgspec.convert, type=ReassignmentsSeen),
    OFFSETS: partial(msgspec.convert, type=OffsetsSeen),
    LEADING: partial(msgspec.convert, type=LeadingSeen),
    STARTS: partial(msgspec.convert, type=StartsSeen),
    ENDS: partial(msgspec.convert, type=EndsSeen),
    COMMITS: partial(msgspec.convert, type=CommitsSeen),
    COMMITS_LEFT: partial(msgspec.convert, type=CommitsLeft),
    REPLICA: partial(msgspec.convert, type=ReplicaSeen),
}
"""How readers get a struct of what runs wrote while they used dictionaries."""
GOLDEN = Path(__file__).parent / "golden"
LINES = (GOLDEN / "observations.jsonl").read_bytes().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_what_a_run_observed_is_written_again_as_it_was(line: bytes) -> None:
    operation = msgspec.json.decode(line, type=Operation)
    seen = SEEN[operation.key](operation.value)
    assert isinstance(seen, msgspec.Struct)
    assert msgspec.json.encode(msgspec.structs.replace(operation, value=seen)) == line


def test_each_kind_of_observation_has_a_line_of_a_run() -> None:
    assert {msgspec.json.decode(line)["key"] for line in LINES} == SEEN.keys()


FAULTS = {
    ("inject", OperationType.INVOKE): PlannedFault,
    ("inject", OperationType.OK): FaultInjected,
    ("inject", OperationType.FAIL): FaultRefused,
    ("heal", OperationType.INVOKE): PlannedFault,
    ("heal", OperationType.OK): FaultProbed,
}
"""Which struct the nemesis writes."""


@pytest.mark.parametrize("line", (GOLDEN / "faults.jsonl").read_bytes().splitlines())
def test_what_a_nemesis_recorded_is_written_again_as_it_was(line: bytes) -> None:
    operation = msgspec.json.decode(line, type=Operation)
    fault = msgspec.convert(operation.value, FAULTS[operation.f, operation.type])
    assert msgspec.json.encode(msgspec.structs.replace(operation, value=fault)) == line
