"""What a run means to see and did not see is reported; what nobody could see is not missed."""

from typing import Any

import msgspec
import pytest

from checkers.evidence.faults import fault_windows
from checkers.history.operations import History, Operation, OperationType
from checkers.history.setup import setup_of
from checkers.runs.coverage import coverage_of
from tests.checkers.conftest import SETUP, history_of, ns

OK = OperationType.OK
_NODES = [{"name": "b1", "id": 1, "roles": ["broker"]}, {"name": "c2", "id": 2, "roles": ["controller"]}]
_TOPICS = [{"name": "log-0", "partitions": 2}]
_BEGIN, _END = 1, 41
_VIEW = {"began_ns": 0, "topics": {"log-0": [[0, 1, 1, [1], [1], None], [1, 1, 1, [1], [1], None]]}}
_KEYS = (("quorum", "c2"), ("quorum-state", "b1"), ("quorum-state", "c2"), ("partitions", "b1"))


def seen(key: str, node: str, at_s: float, value: Any = None) -> Operation:
    return Operation(0, ns(at_s), f"observer-{key}", OK, "observe", key, value, node=node)


_VOTE = {"line": 3, "at": None, "epoch": 1, "candidate_id": 2}


def watched(*more: str, without: tuple[tuple[str, str], float, float] | None = None) -> History:
    """A run in which everything is seen each second, but for one thing in a span of seconds."""
    lines = (f"{_BEGIN} phase load", "30 phase heal", f"{_END} phase evidence", "42 phase done", *more)
    story = history_of("\n".join(lines), setup={"scenario": "smoke", "nodes": _NODES, "topics": _TOPICS})
    views = [
        seen(key, node, second, _VIEW if key == "partitions" else {"began_ns": 0, "answer": "error"})
        for key, node in _KEYS
        for second in range(_BEGIN, _END + 1)
        if without is None or (key, node) != without[0] or not without[1] <= second <= without[2]
    ]
    return with_more(story, *views)


def with_more(history: History, *operations: Operation) -> History:
    ordered = sorted((*history.operations, *operations), key=lambda operation: operation.time_ns)
    numbered = (msgspec.structs.replace(each, index=index) for index, each in enumerate(ordered))
    return msgspec.structs.replace(history, operations=tuple(numbered))


def unmet(history: History) -> dict[str, str]:
    setup = setup_of(history)
    assert setup is not None
    assumptions = coverage_of(history, setup, fault_windows(history))
    return {each.name: each.observed for each in assumptions if not each.met}


def test_what_was_seen_all_the_time() -> None:
    history = watched()
    assert unmet(history) == {}
    setup = setup_of(history)
    assert setup is not None
    observed = {one.name: one.observed for one in coverage_of(history, setup, ())}
    assert (observed["quorum-covered"], observed["views-covered"]) == ("all seen", "all seen")


def test_of_other_harnesses_nothing_is_asked() -> None:
    assert unmet(history_of("1 phase load", setup={"nodes": _NODES, "topics": _TOPICS})) == {}
    assert {*SETUP} >= {"kafka_version"}


def test_a_run_without_load_has_nobody_to_watch() -> None:
    history = history_of("1 phase evidence", setup={"scenario": "smoke", "nodes": _NODES})
    assert unmet(history) == {}


@pytest.mark.parametrize(
    ("what", "name"),
    [
        (("quorum", "c2"), "quorum-covered"),
        (("quorum-state", "b1"), "quorum-state-covered"),
        (("partitions", "b1"), "partitions-covered"),
    ],
)
@pytest.mark.parametrize(
    ("from_s", "to_s", "silent_ms"),
    [(10, 16, None), (10, 17, 9000), (1, 8, None), (1, 9, 9000), (34, 41, None), (33, 41, 9000)],
)
def test_a_silence_is_reported(
    what: tuple[str, str], name: str, from_s: int, to_s: int, silent_ms: int | None
) -> None:
    reported = unmet(watched(without=(what, from_s, to_s)))
    assert reported == ({name: f"not seen: {what[1]} for {silent_ms} ms"} if silent_ms else {})


def test_what_was_never_seen_is_reported() -> None:
    reported = unmet(watched(without=(("partitions", "b1"), 0, 99)))
    assert reported == {
        "partitions-covered": "not seen: b1 for 40000 ms",
        "views-covered": "not seen: log-0/0, log-0/1",
    }


@pytest.mark.parametrize(
    ("lines", "excused"),
    [
        (("9 f1 kill b1 ok", "20 f1 heal ok"), True),
        (("9 f1 pause b1 ok", "12 f1 heal ok"), True),
        (("9 f1 partition b1 ok", "20 f1 heal ok"), False),
        (("9 f1 kill c2 ok", "20 f1 heal ok"), False),
        (("9 b1 exited 1", "12 b1 running"), True),
        (("9 b1 exited 1",), True),
        (("9 c2 exited 1", "12 c2 running"), False),
        (("2 b1 exited 1", "5 b1 running"), False),
    ],
)
def test_a_node_that_is_away_is_not_missed(lines: tuple[str, ...], *, excused: bool) -> None:
    reported = unmet(watched(*lines, without=(("partitions", "b1"), 10, 20)))
    reported.pop("faults-covered", None)
    assert reported == ({} if excused else {"partitions-covered": "not seen: b1 for 12000 ms"})


@pytest.mark.parametrize(
    ("begin_s", "end_s", "silent_ms"),
    [(17.9, 19, 8900), (17, 19, None), (9.5, 22, None), (9.5, 22.5, None), (9.5, 12, 9000)],
)
def test_before_a_fault_and_long_after_it_a_node_is_missed(
    begin_s: float, end_s: float, silent_ms: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checkers.runs.coverage._RETURN_NS", ns(19.9))
    lines = (f"{begin_s} f1 kill b1 ok", f"{end_s} f1 heal ok")
    reported = unmet(watched(*lines, without=(("partitions", "b1"), 10, 99)))
    expected = {"partitions-covered": f"not seen: b1 for {silent_ms} ms"} if silent_ms else {}
    assert {name: text for name, text in reported.items() if name != "faults-covered"} == expected


@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        ("log", set()),
        ("offsets", {"final-read-covered"}),
        ("metadata", {"final-list-topics-covered", "final-read-covered"}),
        ("copy", {"final-committed-offsets-covered"}),
        ("shares", {"final-share-offsets-covered"}),
    ],
)
def test_what_a_workload_wants_to_know_at_the_end(kind: str, missing: set[str]) -> None:
    begun = watched("31 phase final-read")
    questions = ("read", "list-topics", "committed-offsets", "share-offsets")
    early = [Operation(0, ns(30), 7, OK, f) for f in questions]
    asked = [Operation(0, ns(31), 8, OperationType.INVOKE, each.f) for each in early]
    observations = [msgspec.structs.replace(each, time_ns=ns(32)) for each in early]

    def of_kind(history: History, *operations: Operation) -> set[str]:
        recorded = with_more(history, *operations)
        setup = setup_of(recorded)
        assert setup is not None
        workload = msgspec.structs.replace(setup.workload, kind=kind)
        changed = msgspec.structs.replace(setup, workload=workload)
        return {each.name for each in coverage_of(recorded, changed, ()) if not each.met}

    assert of_kind(begun, *early, *asked) == missing
    assert of_kind(begun, *observations) == set()
    assert of_kind(watched(), *early) == set()


@pytest.mark.parametrize(
    ("probe", "reported"),
    [
        ({"seen": 1}, {}),
        ({}, {"faults-covered": "not seen: inject of f1"}),
        (None, {"faults-covered": "not seen: inject of f1"}),
    ],
)
def test_a_fault_without_what_its_probe_saw(probe: object, reported: dict[str, str]) -> None:
    history = watched("5 f1 kill b1 ok", "9 f1 kill b1 info", "12 f1 heal info")
    operations = [
        msgspec.structs.replace(each, value=each.value | {"probe": probe})
        if each.f == "inject" and each.type is OK
        else each
        for each in history.operations
    ]
    assert unmet(msgspec.structs.replace(history, operations=tuple(operations))) == reported


def test_an_injection_without_a_value_saw_nothing() -> None:
    blind = Operation(0, ns(7), "nemesis", OK, "heal", "f9")
    assert unmet(with_more(watched(), blind)) == {"faults-covered": "not seen: heal of f9"}


@pytest.mark.parametrize(
    ("log", "missing"),
    [
        ({"end": 10}, None),
        ({"end": 9}, "they end at offset 9, but 10 was reported as committed"),
        ({"end": 10, "log_start": 3}, "b1's begins at offset 3, without a snapshot"),
        ({"end": 10, "log_start": 3, "checkpoint": ["3", []]}, None),
        (
            {"end": 10, "records": [[9, 1, "OPAQUE_RECORD", {"type": 99, "version": 1, "size": 4}]]},
            "1 records of b1's metadata log could not be decoded, first: version 1 of type 99 at offset 9",
        ),
    ],
)
def test_metadata_logs_reach_from_the_beginning_to_what_was_committed(
    log: dict[str, Any], missing: str | None
) -> None:
    value = {
        "began_ns": 1,
        "topic": "__cluster_metadata",
        "partition": 0,
        "count": 0,
        "batches": {},
        "records": [],
        **log,
    }
    leads = {"answer": "leader", "leader_id": 1, "leader_epoch": 1, "high_watermark": 10, "wall_ms": 0}
    mark = seen("quorum", "c2", 20.5, leads | {"began_ns": 0, "voters": []})
    reported = unmet(with_more(watched(), seen("metadata-log", "b1", 41.5, value), mark))
    assert reported == ({"metadata-log-covered": f"missing: {missing}"} if missing else {})


@pytest.mark.parametrize(
    ("count", "noted", "missing"),
    [
        (1, {0, 1, 2, 3, 4, 5, 6}, None),
        (0, set(), None),
        (1, {0, 1, 2, 3, 4, 6}, "log-0/5 on b1"),
        (1, {6}, "log-0/0 on b1, log-0/1 on b1, log-0/2 on b1, log-0/3 on b1, log-0/4 on b1 and 1 more"),
    ],
)
def test_leader_epochs_of_logs_that_have_records(count: int, noted: set[int], missing: str | None) -> None:
    where = [{"topic": "log-0", "partition": number} for number in range(7)]
    log = {"began_ns": 1, "count": count, "batches": {}}
    replicas = [seen("replica", "b1", 41.5, {**each, **log}) for each in where]
    epochs = [seen("leader-epochs", "b1", 41.6, {**where[number], "entries": []}) for number in noted]
    expected = {"leader-epochs-covered": f"not seen: {missing}"} if missing else {}
    assert unmet(with_more(watched(), *replicas, *epochs)) == expected


@pytest.mark.parametrize(
    ("lines", "missing"),
    [
        ((), None),
        ([{"line": None, "lines": 9, "further": 0}], None),
        ([_VOTE, {"line": None, "lines": 9, "further": 0}], None),
        ([_VOTE], "c2"),
        ([{"line": None, "lines": 9, "further": 7}], "c2"),
    ],
)
def test_logs_are_read_for_votes_to_their_ends(lines: list[dict[str, Any]], missing: str | None) -> None:
    votes = [seen("vote", "c2", 42, value) for value in lines]
    expected = {"votes-covered": f"not seen: {missing}"} if missing else {}
    assert unmet(with_more(watched(), *votes)) == expected


def test_the_log_of_a_broker_needs_no_end() -> None:
    ends = {"line": None, "lines": 9, "further": 0}
    assert unmet(with_more(watched(), seen("vote", "c2", 42, ends), seen("vote", "b1", 42, _VOTE))) == {}


@pytest.mark.parametrize(
    ("evidence", "observed", "missing"),
    [(["folders"], {"b1"}, None), (["folders"], set(), "b1"), (["replicas"], set(), None)],
)
def test_folders_of_all_brokers(evidence: list[str], observed: set[str], missing: str | None) -> None:
    setup = {"scenario": "smoke", "nodes": _NODES, "evidence": evidence}
    history = with_more(
        history_of("1 phase evidence", setup=setup), *(seen("folders", node, 2) for node in observed)
    )
    assert unmet(history) == ({"folders-covered": f"not seen: {missing}"} if missing else {})


@pytest.mark.parametrize(
    ("value", "missing"),
    [
        pytest.param({"groups": [], "transactional_ids": []}, None, id="reported"),
        pytest.param({"groups": None, "transactional_ids": []}, "b1", id="no groups"),
        pytest.param({"groups": [], "transactional_ids": None}, "b1", id="no transactions"),
    ],
)
def test_what_brokers_coordinate(value: dict[str, Any], missing: str | None) -> None:
    setup = {"scenario": "smoke", "nodes": _NODES, "evidence": ["coordinators"]}
    answer = seen("coordinators", "b1", 2, {"began_ns": 1, **value})
    history = with_more(history_of("1 phase evidence", setup=setup), answer)
    assert unmet(history) == ({"coordinators-covered": f"not seen: {missing}"} if missing else {})


def test_a_broker_that_does_not_run_is_not_asked_what_it_coordinates() -> None:
    setup = {"scenario": "smoke", "nodes": _NODES, "evidence": ["coordinators"]}
    history = history_of("1 phase evidence", setup=setup)
    assert unmet(history) == {"coordinators-covered": "not seen: b1"}
    assert unmet(with_more(history, seen("node", "b1", 2, {"status": "exited"}))) == {}


@pytest.mark.parametrize(("answered", "missing"), [({"b1"}, None), (set(), "b1")])
def test_producers_that_brokers_know(answered: set[str], missing: str | None) -> None:
    setup = {"scenario": "smoke", "nodes": _NODES, "evidence": ["producers"]}
    history = history_of("1 phase evidence", setup=setup)
    history = with_more(history, *(seen("producers", node, 2, {"topics": {}}) for node in answered))
    assert unmet(history) == ({"producers-covered": f"not seen: {missing}"} if missing else {})
