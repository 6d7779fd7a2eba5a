"""What real runs wrote is read into structs, and those are written again byte for byte."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.history import requested
from checkers.history.changing_topics import (
    RecordAppended,
    RecordRequested,
    RecordsFetched,
    TopicById,
    TopicConfigured,
    TopicCreated,
    TopicRequested,
)
from checkers.history.commits import GroupFound, GroupRequested
from checkers.history.courses import (
    AWAIT,
    CHOOSE,
    MOVES,
    PERFORM,
    ChoiceMade,
    ChoiceRequested,
    ConditionAwaited,
    ConditionSeen,
    OperationPerformed,
    OperationRequested,
    ScriptEnded,
    ScriptPlanned,
)
from checkers.history.group_offsets import (
    Joining,
    OffsetCommitted,
    OffsetsDeleted,
    OffsetsFetched,
    OffsetsWanted,
)
from checkers.history.logged import (
    CLEANED,
    ELECTED,
    EPOCH_BEGUN,
    INSTANCE_REFUSED,
    ISR_SHRUNK,
    LOADED,
    LOG_LACKING,
    NODE_LOG,
    TRUNCATED,
    VOTE,
    ElectedLogged,
    EpochBegun,
    FindingLogged,
    InstanceRefused,
    IsrShrunk,
    LogLacking,
    LogLoaded,
    LogsCleaned,
    LogTruncated,
    vote_logged,
)
from checkers.history.operations import Operation, OperationType
from checkers.history.recoveries import Recovery, RecoveryAwaited
from checkers.history.sends import AnsweredRun, SentRun
from checkers.history.shares import StartAltered, StartsDeleted
from checkers.history.transactions import (
    CoordinatorRequested,
    LeaderRequested,
    MarkerAnswered,
    ProducerDescribed,
    ProducerInitialised,
    ProducerRequested,
    ScriptPlayed,
    TransactionDescribed,
    TxnEnded,
    TxnRequested,
    TxnSend,
    TxnSendRequested,
)
from tests.mutations.recordings import journals, names

ASKED: dict[str, type[requested.AdminRequested]] = {
    "elect-leaders": requested.ElectionRequested,
    "alter-reassignments": requested.ReassignmentRequested,
    "remove-voter": requested.VoterRequested,
    "add-voter": requested.VoterOffered,
    "update-feature": requested.FeatureRequested,
    "alter-topic": requested.TopicAltered,
    "alter-brokers": requested.BrokersAltered,
    "alter-broker": requested.BrokerAltered,
    "alter-group": requested.GroupAltered,
    "unregister-broker": requested.BrokerUnregistered,
    "unregister-controller": requested.ControllerUnregistered,
    "create-partitions": requested.PartitionsAdded,
    "late-heartbeat": requested.HeartbeatSent,
}
"""What an operator, or a client of the workload, writes when it asks."""
RARE = (Path(__file__).parent / "golden" / "rare.jsonl").read_bytes().splitlines()
"""Lines of further real runs: what none of the recorded ones has."""
IN_NO_RUN = {
    "update-feature",
    "alter-brokers",
    "alter-broker",
    "alter-group",
    "unregister-broker",
    "unregister-controller",
    "configure",
    "join-group",
    "leave-group",
    "alter-share-offsets",
    "delete-share-offsets",
    TRUNCATED,
    LOG_LACKING,
    INSTANCE_REFUSED,
}
LOGGED: dict[str, type[msgspec.Struct]] = {
    NODE_LOG: FindingLogged,
    ELECTED: ElectedLogged,
    LOADED: LogLoaded,
    EPOCH_BEGUN: EpochBegun,
    INSTANCE_REFUSED: InstanceRefused,
    ISR_SHRUNK: IsrShrunk,
    TRUNCATED: LogTruncated,
    CLEANED: LogsCleaned,
    LOG_LACKING: LogLacking,
}
"""What is written of nodes' own logs, votes apart."""
PAIRS: dict[str, tuple[type[msgspec.Struct], type[msgspec.Struct]]] = {
    AWAIT: (ConditionAwaited, ConditionSeen),
    CHOOSE: (ChoiceRequested, ChoiceMade),
    PERFORM: (OperationRequested, OperationPerformed),
    MOVES: (ScriptPlanned, ScriptEnded),
    "configure": (requested.NodeConfigured, requested.NodeConfigured),
    "recover": (RecoveryAwaited, Recovery),
    "commit-offset": (OffsetCommitted, OffsetCommitted),
    "delete-offsets": (OffsetsDeleted, OffsetsDeleted),
    "fetch-offsets": (OffsetsWanted, OffsetsFetched),
    "join-group": (Joining, Joining),
    "leave-group": (Joining, Joining),
    "alter-share-offsets": (StartAltered, StartAltered),
    "delete-share-offsets": (StartsDeleted, StartsDeleted),
    "create-topic": (TopicRequested, TopicCreated),
    "configure-topic": (TopicConfigured, TopicConfigured),
    "append-record": (RecordRequested, RecordAppended),
    "fetch-records": (TopicById, RecordsFetched),
    "committed-offsets": (GroupRequested, GroupFound),
    "init-transactions": (ProducerRequested, ProducerInitialised),
    "describe-transaction": (CoordinatorRequested, TransactionDescribed),
    "describe-producer": (LeaderRequested, ProducerDescribed),
    "abort-transaction": (LeaderRequested, MarkerAnswered),
    "control": (ScriptPlayed, ScriptPlayed),
    "txn": (TxnRequested, TxnEnded),
}
"""What is written at first of all others, and what is written where something came of it."""


def struct_of(operation: Operation) -> type[msgspec.Struct] | None:
    """The struct that is written as the value of an operation; None where it is none, or not listed here."""
    if operation.f == "send":
        return _run_of(operation)
    if operation.f == "observe":
        return type(vote_logged(operation.value)) if operation.key == VOTE else LOGGED.get(operation.key)
    if operation.f in PAIRS:
        asked, answered = PAIRS[operation.f]
        needed = {field.name for field in msgspec.structs.fields(answered) if field.required}
        ended = operation.type is not OperationType.INVOKE and needed <= operation.value.keys()
        return answered if ended else asked
    request = ASKED.get(operation.f)
    if request is None:
        return None
    return requested.ENDED[request] if "code" in operation.value else request


def _run_of(operation: Operation) -> type[msgspec.Struct] | None:
    """What a lane of the bulk workload writes of a batch that nothing happened to."""
    if not isinstance(operation.value, dict):
        return None
    return AnsweredRun if "offsets" in operation.value else SentRun


def _as_requested(mop: msgspec.Struct, written: Sequence[Any]) -> msgspec.Struct:
    """A micro-operation that was read as one that is asked for, with the offset that it was written with."""
    answered = isinstance(mop, TxnSendRequested) and len(written) == len(
        ("send", "topic", 0, "value", "offset")
    )
    return TxnSend(*written[1:]) if answered else mop


def lines_of(run: str) -> Iterator[bytes]:
    """All operations of a run."""
    for content in journals(run).values():
        yield from content.splitlines()[1:]


def again(line: bytes) -> tuple[str, bytes] | None:
    """What an operation is, and its line as it is written now; None where it holds no struct."""
    operation = msgspec.json.decode(line, type=Operation)
    struct = struct_of(operation)
    if struct is None:
        return None
    value = msgspec.convert(operation.value, struct)
    if isinstance(value, TxnRequested):
        value = msgspec.structs.replace(
            value, mops=list(map(_as_requested, value.mops, operation.value["mops"]))
        )
    what = operation.key if operation.f == "observe" else operation.f
    return what, msgspec.json.encode(msgspec.structs.replace(operation, value=value))


def struct_names(lines: Iterable[bytes]) -> frozenset[str]:
    """What some lines are of which structs are described here; all of them are written again as they were."""
    found = set()
    for line in lines:
        if (written := again(line)) is not None:
            assert written[1] == line
            found.add(written[0])
    return frozenset(found)


@cache
def struct_names_in(run: str) -> frozenset[str]:
    return struct_names(lines_of(run))


@pytest.mark.parametrize("run", names())
def test_what_a_run_wrote_is_written_again_as_it_was(run: str) -> None:
    struct_names_in(run)


def test_each_kind_is_in_some_run() -> None:
    every = {*ASKED, *PAIRS, *LOGGED, VOTE, "send"}
    assert every - frozenset.union(struct_names(RARE), *map(struct_names_in, names())) == IN_NO_RUN


WHOM = {"to": "n1"}
ANSWER = {"took_ms": 3, "code": 0}


@pytest.mark.parametrize(
    ("asked", "answered", "before"),
    [
        (
            requested.FeatureRequested(to="n1", level=1),
            requested.AnsweredInWords(took_ms=3, code=0),
            WHOM | {"level": 1} | ANSWER | {"message": None},
        ),
        (
            requested.BrokersAltered(to="n1", value="5"),
            requested.AnsweredInWords(took_ms=3, code=0),
            WHOM | {"value": "5"} | ANSWER | {"message": None},
        ),
        (
            requested.GroupAltered(to="n1", config="c", value="v"),
            requested.AnsweredInWords(took_ms=3, code=0),
            WHOM | {"config": "c", "value": "v"} | ANSWER | {"message": None},
        ),
        (
            requested.BrokerAltered(to="n1", config="c"),
            requested.AnsweredInWords(took_ms=3, code=0),
            WHOM | {"config": "c", "value": None} | ANSWER | {"message": None},
        ),
        (
            requested.BrokerUnregistered(to="n1"),
            requested.AnsweredInWords(took_ms=3, code=0),
            WHOM | ANSWER | {"message": None},
        ),
        (
            requested.PartitionsAdded(to="n1", count=4),
            requested.AnsweredInWords(took_ms=3, code=37, message="no"),
            WHOM | {"count": 4, "took_ms": 3, "code": 37, "message": "no"},
        ),
        (
            requested.HeartbeatSent(to="n1", epoch=5, metadata_offset=9),
            requested.HeartbeatAnswered(
                took_ms=3, code=0, is_caught_up=True, is_fenced=False, should_shut_down=False
            ),
            WHOM
            | {"epoch": 5, "metadata_offset": 9}
            | ANSWER
            | {"is_caught_up": True, "is_fenced": False, "should_shut_down": False},
        ),
    ],
)
def test_what_no_recorded_run_asked_for(
    asked: requested.AdminRequested, answered: requested.AdminAnswered, before: dict[str, object]
) -> None:
    assert msgspec.json.encode(requested.completed(asked, answered)) == msgspec.json.encode(before)


def test_an_answer_to_something_else_is_refused() -> None:
    with pytest.raises(TypeError, match="Unexpected keyword argument"):
        requested.completed(
            requested.FeatureRequested(level=1), requested.PartitionsAnswered(code=0, results=())
        )


def test_a_client_of_the_workload_has_nothing_but_the_count() -> None:
    assert msgspec.json.encode(requested.PartitionsAdded(count=4)) == b'{"count":4}'


def test_values_of_a_replay_and_of_a_configuration() -> None:
    chosen = ChoiceMade({"move": "given"}, parts={"leader": "b1"}, where=("t", 0), as_then=False)
    before = {"choice": {"move": "given"}, "parts": {"leader": "b1"}, "where": ["t", 0], "as_then": False}
    assert msgspec.json.encode(chosen) == msgspec.json.encode(before)
    assert msgspec.json.encode(requested.NodeConfigured({"x": None})) == b'{"properties":{"x":null}}'
