"""A run's rows: what they have of every record, operation, fault and view, whatever the history's form."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from checkers.history.identity import ImageIdentity, encode_identity
from checkers.history.operations import History, Operation, OperationType
from checkers.history.reading import HistoryError, read_history
from results.pipeline.found import FoundRun, find_runs
from results.pipeline.rows.columnar import file_schema
from results.pipeline.rows.tabulating import INGESTED, tables_of
from results.pipeline.schemas import PARTITIONED_BY, TABLES
from results.store.runs import RunUnreadableError, load_identity
from tests.checkers.logs.log.log_transactions import TransactionalSimulation
from tests.results.pipeline.stored_runs import STORY, store

Rows = dict[str, list[dict[str, Any]]]
READER = {"client": "kafka-python", "isolation": "read_committed"}


def history_of(*lines: tuple[int, int | str, str, str, Any, Any], **fields: Any) -> History:
    """A history of (time, process, type, f, key, value)."""
    operations = tuple(
        Operation(index, time_ns, process, OperationType(kind), f, key, value, **fields.get(str(index), {}))
        for index, (time_ns, process, kind, f, key, value) in enumerate(lines)
    )
    return History("a1", "2026-11-20T21:56:57Z", operations)


def rows_of(root: Path, history: History) -> Rows:
    store(root, "a1", history)
    (found,), skipped = find_runs(root)
    assert skipped == []
    return {name: table.to_pylist() for name, table in in_rows(found).items()}


def in_rows(found: FoundRun) -> dict[str, pa.Table]:
    return tables_of(found, read_history(Path(found.folder)))


def pick(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def test_a_batch_is_one_operation_and_many_records(tmp_path: Path) -> None:
    history = history_of(
        (5, 0, "invoke", "send", "log-0", [[0, 1], [1, 2], [0, 3]]),
        (9, 0, "info", "send", "log-0", [[0, 1, 7, "ok"], [1, 2, None, "fail"], [0, 3, None, "info"]]),
        (12, 4, "invoke", "send", "log-1", {"partition": 2, "first": 10, "count": 2}),
        **{"1": {"error": "TimeoutError", "node": "n1"}},
    )
    rows = rows_of(tmp_path, history)

    assert pick(rows["operations"], "index", "process", "f", "key", "type", "error") == [
        (0, "0", "send", "log-0", "info", "TimeoutError"),
        (2, "4", "send", "log-1", "open", None),
    ]
    assert pick(
        rows["operations"], "invoked_ns", "completed_ns", "latency_ns", "sends", "acked", "records"
    ) == [
        (5, 9, 4, 3, 1, 3),
        (12, None, None, 2, 0, 2),
    ]
    assert pick(
        rows["records"], "op_index", "topic", "partition", "offset", "value", "outcome", "position"
    ) == [
        (0, "log-0", 0, 7, 1, "ok", 0),
        (0, "log-0", 1, None, 2, "fail", 1),
        (0, "log-0", 0, None, 3, "info", 2),
        (2, "log-1", 2, None, 10, "info", 0),
        (2, "log-1", 2, None, 11, "info", 1),
    ]
    assert {(row["kind"], row["reader"], row["transactional"]) for row in rows["records"]} == {
        ("send", None, False)
    }
    assert pick(rows["records"], "completed_ns")[-1] == (None,)
    assert rows["runs"][0]["operations"] == 5


@pytest.mark.parametrize(
    ("image", "content"),
    [
        (ImageIdentity(reference="k", digest="sha256:1", checksums={"jars": "a", "upstream": "t"}), "a"),
        (ImageIdentity(reference="k", digest="sha256:2", checksums={"jars": "a"}), "a"),
        (ImageIdentity(reference="k", digest="sha256:2"), "sha256:2"),
        (ImageIdentity(reference="k"), "k"),
        (None, None),
    ],
)
def test_a_run_has_its_kafka_as_every_machine_knows_it(
    tmp_path: Path, image: ImageIdentity | None, content: str | None
) -> None:
    folder = store(tmp_path, "a1", history_of((1, 0, "invoke", "poll", "log-0", READER)))
    identity = msgspec.structs.replace(load_identity(folder), image=image)
    (folder / "run.json").write_bytes(encode_identity(identity))
    (found,), _skipped = find_runs(tmp_path)
    assert pick(in_rows(found)["runs"].to_pylist(), "kafka_content") == [(content,)]


def test_reads_have_who_read_and_what_nobody_sent(tmp_path: Path) -> None:
    final = READER | {"partition": 1, "start": 0, "end": 2, "position": 2}
    history = history_of(
        (5, 0, "invoke", "poll", "log-0", READER),
        (9, 0, "ok", "poll", "log-0", READER | {"records": [[1, [4, 5], [1, "<b>"]], [0, [0], [3]]]}),
        (10, "r", "invoke", "final-read", "log-0", READER | {"partition": 1}),
        (11, "r", "ok", "final-read", "log-0", final | {"records": [[1, [0], [{"x": 1.5}]]]}),
    )
    rows = rows_of(tmp_path, history)

    assert pick(rows["records"], "op_index", "kind", "partition", "offset", "value", "text", "position") == [
        (0, "read", 1, 4, 1, None, 0),
        (0, "read", 1, 5, None, '"<b>"', 1),
        (0, "read", 0, 0, 3, None, 2),
        (2, "final-read", 1, 0, None, '{"x":1.5}', 0),
    ]
    assert {(row["reader"], row["outcome"]) for row in rows["records"]} == {
        ("kafka-python/read_committed", None)
    }
    assert pick(rows["records"], "process", "invoked_ns", "completed_ns")[2:] == [("0", 5, 9), ("r", 10, 11)]
    assert pick(rows["operations"], "sends", "returned", "records") == [(0, 3, 3), (0, 1, 1)]


def test_records_of_a_transaction_share_its_fate(tmp_path: Path) -> None:
    sends = [["send", "log-0", 0, 1], ["send", "log-0", 0, 2]]
    asked = {"client": "kafka-python", "end": "abort", "mops": sends, "consumed": []}
    answered = asked | {"mops": [["send", "log-0", 0, 1, 3], [*sends[1], None]], "ended": "abort"}
    rows = rows_of(
        tmp_path, history_of((1, 0, "invoke", "txn", "tx-0", asked), (2, 0, "fail", "txn", "tx-0", answered))
    )

    assert pick(rows["records"], "value", "offset", "outcome", "transactional") == [
        (1, 3, "fail", True),
        (2, None, "fail", True),
    ]
    assert pick(rows["operations"], "f", "type", "sends", "acked", "records") == [("txn", "fail", 2, 0, 2)]


def test_polls_within_transactions_are_reads_of_theirs(tmp_path: Path) -> None:
    polled = {"client": "x", "mops": [["poll", "log-0", [[0, [0], [1]]]]]}
    asked = polled | {"mops": [["poll", "log-0", []]]}
    rows = rows_of(
        tmp_path, history_of((1, 0, "invoke", "txn", "tx", asked), (2, 0, "ok", "txn", "tx", polled))
    )
    assert pick(rows["records"], "op_index", "kind", "value", "transactional") == [(0, "read", 1, True)]
    assert pick(rows["operations"], "sends", "returned", "records") == [(0, 1, 1)]


def test_a_key_that_is_no_text_is_json_and_an_operation_without_records_counts_once(tmp_path: Path) -> None:
    rows = rows_of(
        tmp_path,
        history_of(
            (1, "admin", "invoke", "add-voter", 4, {"to": "n1"}), (3, "admin", "fail", "add-voter", 4, None)
        ),
    )
    assert pick(rows["operations"], "key", "type", "returned", "records", "latency_ns") == [
        ("4", "fail", 0, 1, 2)
    ]
    assert rows["runs"][0]["operations"] == 1


def test_views_of_partitions_and_of_the_quorum(tmp_path: Path) -> None:
    partitions = {
        "began_ns": 1,
        "topics": {"log-0": [[0, -1, 3, [1, 2], [2], None], [1, 2, 4, [2, 1], [2, 1], []]]},
    }
    quorum = {
        "began_ns": 1, "answer": "leader", "leader_id": 2, "leader_epoch": 5, "high_watermark": -1,
        "wall_ms": 1, "voters": [[1, None, 6, -1, -1], [2, None, 9, -1, -1]], "observers": [],
    }  # fmt: skip
    refusal = {"began_ns": 1, "answer": "not-leader"}
    history = history_of(
        (1, "observer-1", "ok", "observe", "partitions", partitions),
        (2, "observer-2", "ok", "observe", "quorum", quorum),
        (3, "observer-2", "ok", "observe", "quorum", refusal),
        **{"0": {"node": "n1"}, "1": {"node": "n2"}},
    )
    rows = rows_of(tmp_path, history)

    assert pick(rows["cluster_state"], "view", "subject", "topic", "partition", "leader", "leader_epoch") == [
        ("n1", "partition", "log-0", 0, None, 3),
        ("n1", "partition", "log-0", 1, 2, 4),
        ("n2", "quorum", None, None, 2, 5),
    ]
    assert pick(
        rows["cluster_state"], "isr", "elr", "replicas", "voters", "high_watermark", "end_offset"
    ) == [
        ([2], None, [1, 2], None, None, None),
        ([2, 1], [], [2, 1], None, None, None),
        (None, None, None, [1, 2], None, 9),
    ]
    assert rows["operations"] == []


def test_faults_are_numbered_in_the_order_of_injection(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, STORY)
    assert pick(rows["faults"], "fault", "id", "kind", "targets", "proven") == [
        (1, "f1", "partition", ["n1"], True),
        (2, "f2", "kill", ["n2"], True),
        (3, "f3", "pause", ["n3"], True),
    ]
    for row in rows["faults"]:
        assert row["asked_ns"] < row["in_force_ns"] < row["heal_asked_ns"] < row["healed_ns"]


def test_a_run_has_what_ran(tmp_path: Path) -> None:
    (run,) = rows_of(tmp_path, STORY)["runs"]
    assert run["began_at"] == datetime(2026, 11, 20, 21, 56, 57, tzinfo=UTC)
    assert (run["run_id"], run["scenario"], run["mode"], run["seed"]) == (
        "a1",
        "smoke/partition",
        "combined",
        7,
    )
    assert (run["validity"], run["expected"], run["as_expected"]) == ("valid", "valid", True)
    assert run["load_ended_ns"] < run["ended_ns"] == STORY.operations[-1].time_ns
    assert run["unloaded"] == []
    assert run["replay_of"] is None


def test_a_replay_names_the_run_that_recorded_its_schedule(tmp_path: Path) -> None:
    store(tmp_path, "a2", replay_of="a1")
    (found,), _ = find_runs(tmp_path)
    assert pick(in_rows(found)["runs"].to_pylist(), "run_id", "replay_of") == [("a2", "a1")]


@pytest.mark.parametrize("name", INGESTED)
def test_files_have_the_columns_of_the_schemas_and_a_history_of_nothing_has_no_rows(
    tmp_path: Path, name: str
) -> None:
    store(tmp_path, "a1", history_of())
    (found,), _ = find_runs(tmp_path)
    table = in_rows(found)[name]
    assert table.schema == file_schema(name)
    assert [*table.column_names, *PARTITIONED_BY] == TABLES[name].names
    assert table.num_rows == (name == "runs")


def test_every_record_of_a_simulated_history_is_a_row(tmp_path: Path) -> None:
    history = TransactionalSimulation(3, 4, 200).history()
    operations = history.operations
    asked = [o for o in operations if o.type == "invoke"]
    sent = sum(len(o.value) for o in asked if o.f == "send")
    sent += sum(mop[0] == "send" for o in asked if o.f == "txn" for mop in o.value["mops"])
    chunks = [
        chunk
        for o in operations
        if o.f in {"poll", "final-read"} and o.type == "ok"
        for chunk in o.value["records"]
    ]
    rows = rows_of(tmp_path, msgspec.structs.replace(history, run="a1"))

    assert sum(row["kind"] == "send" for row in rows["records"]) == sent > 0
    returned = [row for row in rows["records"] if row["kind"] != "send"]
    assert sorted(row["offset"] for row in returned) == sorted(o for chunk in chunks for o in chunk[1])
    assert sum(row["records"] for row in rows["operations"]) == rows["runs"][0]["operations"]


def test_a_run_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    folder = store(tmp_path, "a1")
    (found,), _ = find_runs(tmp_path)
    with (folder / "history-0.jsonl").open("ab") as journal:
        journal.write(b'{"index":')
    with pytest.raises(ValueError, match=r"half-written: .*cut short"):
        in_rows(found)


def test_journals_of_another_run_are_refused(tmp_path: Path) -> None:
    folder = store(tmp_path, "a1")
    (found,), _ = find_runs(tmp_path)
    for journal in folder.glob("history-*"):
        journal.write_bytes(journal.read_bytes().replace(b'"run":"a1"', b'"run":"b2"'))
    with pytest.raises(ValueError, match="those of run b2, not of a1"):
        in_rows(found)


def test_a_line_that_was_changed_is_refused(tmp_path: Path) -> None:
    folder = store(tmp_path, "a1")
    (found,), _ = find_runs(tmp_path)
    journal = folder / "history-0.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"f":"send"', b'"f":"senf"', 1))
    with pytest.raises(HistoryError, match="completes"):
        in_rows(found)
    (folder / "verdict.json").unlink()
    journal.write_bytes(journal.read_bytes().replace(b'"f":"senf"', b'"f":"send"', 1))
    with pytest.raises(RunUnreadableError, match="missing"):
        in_rows(found)
