"""Indexes of aborted transactions must fit the logs that they are of."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history.operations import History, Operation, OperationType
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.logs.replicas.replica_histories import (
    SETUP,
    Batch,
    final_read,
    history_of,
    observed,
    recovered,
    replica,
)

INVOKE, OK = OperationType.INVOKE, OperationType.OK
TRANSACTIONAL, CONTROL = 0x10, 0x20
Entry = tuple[int, int, int]
"""Producer id, first offset, offset of the marker."""
Segments = Mapping[int, Sequence[Entry]]


def data(offset: int, producer: int, count: int = 1) -> Batch:
    return Batch(offset, count, producer_id=producer, producer_epoch=0, attributes=TRANSACTIONAL)


def marker(offset: int, producer: int, kind: int = 0) -> Batch:
    both = TRANSACTIONAL | CONTROL
    return Batch(offset, producer_id=producer, producer_epoch=0, attributes=both, control=kind)


LOG = (
    data(0, 7, 2),
    data(2, 8, 3),
    marker(5, 7),
    data(6, 7),
    marker(7, 8),
    marker(8, 7, kind=1),
    marker(9, 8),
    data(10, 9, 2),
    data(12, 7, 2),
    marker(14, 7),
    data(15, 6),
)
"""Aborted: 7 from 0 to 5, 8 from 2 to 7, 7 from 12 to 14.  The marker at 9 ends nothing; 9 and 6 are open."""
INDEX: Segments = {0: [(7, 0, 5), (8, 2, 7)], 10: [(7, 12, 14)]}


def index(
    segments: Segments, *, node: str = "n1", problems: Mapping[int, str] | None = None, **fields: Any
) -> Operation:
    rows = [
        [base, [[*entry, entry[2] + 1] for entry in entries], (problems or {}).get(base)]
        for base, entries in segments.items()
    ]
    value = {"began_ns": 6, "topic": "log-0", "partition": 0, "segments": rows, "error": None} | fields
    return Operation(0, 7, "observer-replicas", OK, "observe", "aborted-transactions", value, node=node)


def run(
    *indexes: Operation,
    log: Sequence[Batch] = LOG,
    end: int = 16,
    start: int = 0,
    isr: Sequence[int] = (1, 2),
    setup: Mapping[str, Any] | None = None,
    before: Sequence[Operation] = (),
    others: Sequence[Operation] = (),
    **fields: Any,
) -> History:
    """A run whose first two nodes have the same log at the end, with these indexes."""
    logs = [observed(node, replica(log, **fields)) for node in ("n1", "n2")]
    meant = {"evidence": ["replicas", "aborted-transactions"], **(setup or {})}
    return history_of(
        *before,
        recovered(isr),
        final_read(end, start=start),
        *others,
        *logs,
        *indexes,
        index(INDEX, node="n2"),
        setup=meant,
    )


def judged(segments: Segments, **more: Any) -> CheckerResult:
    """The result if the index of the first node has these entries."""
    return check_replicas(run(index(segments), **more))


def found(result: CheckerResult) -> list[tuple[str, str | None]]:
    """The findings of the rules on indexes."""
    return [(each.id, each.subject) for each in result.anomalies if "index" in each.id]


RETAINED = {"topics": [SETUP["topics"][0] | {"config": {"retention.ms": "1000"}}]}
DELETION = (
    *(Operation(0, 1, "admin-1", kind, "delete-records", "log-0", [[0, -1]]) for kind in (INVOKE, OK)),
    final_read(None, kind="invoke"),
)
"""A request to delete all records, and the start of the final read."""


def altered(config: str, value: str) -> tuple[Operation, ...]:
    """A request to change the default of a config of all brokers."""
    asked = {"value": value, "to": "n1"}
    return tuple(Operation(0, 1, "admin-1", kind, "alter-brokers", config, asked) for kind in (INVOKE, OK))


CONFIGURED = tuple(
    Operation(0, 1, "moves", kind, "configure", "n1", {"properties": {"producer.id.expiration.ms": "5000"}})
    for kind in (INVOKE, OK)
)
REFUSED = tuple(
    msgspec.structs.replace(each, type=OperationType.FAIL if each.type is OK else each.type)
    for each in altered("producer.id.expiration.ms", "5000")
)


def without(*gone: Entry) -> Segments:
    return {base: [entry for entry in entries if entry not in gone] for base, entries in INDEX.items()}


def test_all_aborted_transactions_are_indexed() -> None:
    result = judged(INDEX)
    assert (result.validity, result.anomalies) == (Validity.VALID, ())
    assert (result.figures["aborts_compared"], result.figures["index_entries"]) == (6, 6)


class TestNotIndexed:
    @pytest.mark.parametrize(
        ("gone", "at"), [((7, 0, 5), 0), ((8, 2, 7), 2), ((7, 12, 14), 12)], ids=["first", "between", "later"]
    )
    def test_one_is_absent(self, gone: Entry, at: int) -> None:
        result = judged(without(gone))
        assert found(result) == [("abort-not-indexed", f"log-0/0@{at}")]

    def test_the_texts_name_the_transaction_and_what_a_consumer_gets(self) -> None:
        (anomaly,) = judged(without((8, 2, 7))).anomalies
        assert anomaly.summary == (
            "log-0/0 on n1: the transaction of producer 8 from offset 2 on was aborted by the marker at 7, "
            "and the index of aborted transactions lacks it"
        )
        assert anomaly.explanation[1:] == (
            "n1 has records of producer 8 from 2 on, and their abort marker at 7.",
            "The index of the segment that begins at 0 has no entry for that marker.",
            "A consumer at read_committed that fetches from n1 gets these records as committed ones.",
        )
        assert anomaly.witness == (1, 2, 3, 5)

    def test_one_is_indexed_from_a_later_record_on(self) -> None:
        (anomaly,) = judged({0: [(7, 0, 5), (8, 4, 7)], 10: INDEX[10]}).anomalies
        assert (anomaly.id, anomaly.subject) == ("abort-not-indexed", "log-0/0@2")
        assert anomaly.summary.endswith("the index of aborted transactions has it only from offset 4 on")
        *_, which, what = anomaly.explanation
        assert which == "The index of the segment that begins at 0 has it from offset 4 on."
        assert what.endswith("that fetches from n1 gets its records below offset 4 as committed ones.")

    def test_a_broker_may_have_known_a_higher_start_of_a_topic_with_a_retention(self) -> None:
        late: Segments = {0: [(7, 0, 5), (8, 4, 7)], 10: INDEX[10]}
        assert judged(late, setup=RETAINED).validity is Validity.VALID
        result = judged(without((8, 2, 7)), setup=RETAINED)
        assert found(result) == [("abort-not-indexed", "log-0/0@2")]

    def test_all_are_absent(self) -> None:
        result = judged({0: [], 10: []})
        assert result.counts == {"abort-not-indexed": 3}
        assert [at for _, at in found(result)] == ["log-0/0@0", "log-0/0@2", "log-0/0@12"]

    def test_an_entry_in_the_index_of_another_segment_does_not_count(self) -> None:
        assert found(judged({0: [*INDEX[0], (7, 12, 14)], 10: []})) == [("abort-not-indexed", "log-0/0@12")]

    def test_an_entry_of_another_producer_does_not_count(self) -> None:
        result = judged({0: [(7, 0, 5), (9, 2, 7)], 10: INDEX[10]})
        assert result.counts == {"abort-not-indexed": 1, "indexed-in-error": 1}

    def test_records_below_the_start_do_not_count(self) -> None:
        cut = {"log": LOG[1:], "log_start": 2, "start": 2}
        assert found(judged(without((7, 0, 5)), **cut)) == []
        assert found(judged(INDEX, **cut)) == []
        assert found(judged(without((8, 2, 7)), **cut)) == [("abort-not-indexed", "log-0/0@2")]

    def test_the_highest_start_counts_that_anything_shows(self) -> None:
        assert found(judged(without((8, 2, 7)), start=4)) == [("abort-not-indexed", "log-0/0@2")]
        assert found(judged({0: [(7, 0, 5), (8, 3, 7)], 10: INDEX[10]}, start=5)) == []
        assert found(judged(without((8, 2, 7)), start=5)) == []
        assert found(judged(without((7, 12, 14)), log_start=12)) == [("abort-not-indexed", "log-0/0@12")]
        assert found(judged(without((7, 12, 14)), log_start=14)) == []
        assert found(judged(without((7, 12, 14)), log_start=15)) == []

    @pytest.mark.parametrize("more", [{"setup": RETAINED}, {"before": DELETION}], ids=["old", "requested"])
    def test_segments_that_were_deleted_when_indexes_were_read_are_not_judged(
        self, more: Mapping[str, Any]
    ) -> None:
        result = judged({10: INDEX[10]}, **more)
        assert (found(result), result.unknown_because) == ([], None)


class TestInError:
    @pytest.mark.parametrize(
        ("segments", "at", "message"),
        [
            pytest.param(
                {0: [*INDEX[0], (7, 6, 8)], 10: INDEX[10]},
                6,
                "no abort marker of that producer at 8",
                id="commit",
            ),
            pytest.param(
                {0: INDEX[0], 10: [*INDEX[10], (6, 10, 15)]},
                10,
                "no abort marker of that producer at 15",
                id="data",
            ),
            pytest.param(
                {0: [*INDEX[0], (8, 8, 9)], 10: INDEX[10]},
                8,
                "the marker at 9 ends has no record at 8",
                id="empty",
            ),
            pytest.param(
                {0: INDEX[0], 10: [(7, 11, 14)]}, 11, "the marker at 14 ends has no record at 11", id="early"
            ),
            pytest.param(
                {0: [(7, 0, 5), (8, 1, 7)], 10: INDEX[10]},
                1,
                "the marker at 7 ends has no record at 1",
                id="first",
            ),
        ],
    )
    def test_one_is_wrong(self, segments: Segments, at: int, message: str) -> None:
        (anomaly,) = judged(segments).anomalies
        assert (anomaly.id, anomaly.subject) == ("indexed-in-error", f"log-0/0@{at}")
        assert message in anomaly.summary
        assert message in anomaly.explanation[2]
        assert anomaly.explanation[3].startswith(
            "A consumer at read_committed that fetches from n1 leaves out"
        )

    def test_what_begins_below_the_start_is_legal_after_the_last_marker(self) -> None:
        cut = {"log": LOG[3:], "log_start": 10, "start": 10}
        assert found(judged({10: [(7, 9, 14)]}, **cut)) == []
        assert found(judged({10: [(7, 6, 14)]}, **cut)) == [("indexed-in-error", "log-0/0@6")]

    def test_markers_below_the_start_and_above_the_end_are_not_judged(self) -> None:
        wrong = {0: [(9, 0, 3)], 10: [*INDEX[10], (6, 15, 16), (6, 15, 17)]}
        assert found(judged(wrong, start=10)) == []

    def test_an_offset_that_the_log_lacks_is_another_finding(self) -> None:
        result = judged({0: INDEX[0], 10: [(7, 12, 14)]}, log=[*LOG[:9], *LOG[10:]])
        assert "indexed-in-error" not in result.counts


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"isr": (2,)}, id="not in sync"),
        pytest.param({"end": 5}, id="not committed"),
        pytest.param({"setup": {"config": {"producer.id.expiration.ms": "5000"}}}, id="producers expire"),
        pytest.param(
            {"before": altered("producer.id.expiration.ms", "5000")}, id="producers expire by default"
        ),
        pytest.param({"before": CONFIGURED}, id="producers expire after a start"),
        pytest.param({"before": altered("log.cleanup.policy", "compact")}, id="compacted by default"),
        pytest.param(
            {"setup": {"topics": [SETUP["topics"][0] | {"config": {"cleanup.policy": "compact"}}]}},
            id="compacted",
        ),
        pytest.param(
            {
                "others": [
                    Operation(
                        0, 1, "nemesis", kind, "inject", "f1", {"kind": "power-loss", "targets": ["n1"]}
                    )
                    for kind in (OperationType.INVOKE, OK)
                ]
            },
            id="power loss",
        ),
        pytest.param(
            {"corrupt": [["0.log", 0, 0, "the CRC-32C is not that of the content"]]}, id="damaged log"
        ),
    ],
)
def test_what_is_not_judged(more: Mapping[str, Any]) -> None:
    wrong: Segments = {0: [(8, 6, 7)], 10: [(8, 8, 9)]}
    assert judged(wrong).counts == {"abort-not-indexed": 3, "indexed-in-error": 1}
    assert not {"abort-not-indexed", "indexed-in-error"} & judged(wrong, **more).counts.keys()


def test_what_does_not_weaken_the_rules() -> None:
    for before in (REFUSED, altered("log.cleanup.policy", "delete"), altered("log.retention.ms", "5000")):
        assert found(judged(without((8, 2, 7)), before=before)) == [("abort-not-indexed", "log-0/0@2")]
    late: Segments = {0: [(7, 0, 5), (8, 4, 7)], 10: INDEX[10]}
    assert found(judged(late, before=altered("log.retention.ms", "5000"))) == []


class TestUnread:
    def test_an_index_that_was_not_recorded(self) -> None:
        result = check_replicas(run())
        assert result.unknown_because == "the index of aborted transactions of log-0/0 on n1 was not recorded"

    def test_nothing_is_reported_of_histories_without_indexes(self) -> None:
        logs = [observed(node, replica(LOG)) for node in ("n1", "n2")]
        result = check_replicas(history_of(recovered((1, 2)), final_read(16), *logs))
        assert (result.validity, result.unknown_because) == (Validity.VALID, None)

    def test_an_index_that_can_not_be_read(self) -> None:
        result = check_replicas(run(index({}, error="OSError: Input/output error")))
        assert result.unknown_because == (
            "the index of aborted transactions of log-0/0 on n1 was not read: OSError: Input/output error"
        )

    @pytest.mark.parametrize("segments", [{}, {10: INDEX[10]}])
    def test_a_marker_below_all_segments_that_were_read(self, segments: Segments) -> None:
        result = judged(segments)
        assert found(result) == []
        assert result.unknown_because == (
            "the index of aborted transactions of log-0/0 on n1 lacks the segment of the marker at 5"
        )

    @pytest.mark.parametrize("more", [{"start": 15}, {"end": 5}])
    def test_no_segment_is_due_without_an_abort_in_the_judged_range(self, more: Mapping[str, Any]) -> None:
        assert judged({}, **more).unknown_because is None

    def test_an_index_that_is_damaged_before_an_entry(self) -> None:
        damage = {10: "entry 1 is incomplete or damaged (bytes from there on: 6)"}
        result = check_replicas(run(index(without((7, 12, 14)), problems=damage)))
        assert (result.anomalies, result.unknown_because) == (
            (),
            f"the index of aborted transactions of log-0/0 on n1 is damaged: {damage[10]}",
        )

    def test_an_index_that_is_damaged_after_all_entries_that_are_due(self) -> None:
        damage = {10: "entry 2 is incomplete or damaged (bytes from there on: 6)"}
        result = check_replicas(run(index(INDEX, problems=damage)))
        assert (result.validity, result.unknown_because) == (Validity.VALID, None)

    @pytest.mark.parametrize("observations", [[], [index({}, error="gone")]])
    def test_no_index_is_due_of_a_log_without_aborts(self, observations: Sequence[Operation]) -> None:
        result = check_replicas(run(*observations, log=[data(0, 7), marker(1, 7, kind=1)], end=2, isr=(1,)))
        assert result.unknown_because is None


Step = tuple[int, str]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["data", "abort", "commit"])), max_size=30),
    st.integers(0, 30),
    st.data(),
)
def test_the_index_that_a_broker_would_write_is_right(
    steps: list[Step], rolled: int, drawn: st.DataObject
) -> None:
    log: list[Batch] = []
    open_since: dict[int, int] = {}
    segments: dict[int, list[Entry]] = {0: [], rolled: []}
    for offset, (producer, what) in enumerate(steps):
        if what == "data":
            open_since.setdefault(producer, offset)
            log.append(data(offset, producer))
            continue
        log.append(marker(offset, producer, kind=int(what == "commit")))
        first = open_since.pop(producer, None)
        if what == "abort" and first is not None:
            segments[rolled if offset >= rolled else 0].append((producer, first, offset))
    number = sum(map(len, segments.values()))
    assert found(judged_alone(log, segments)) == []
    if number:
        base, gone = drawn.draw(st.sampled_from([(b, e) for b, some in segments.items() for e in some]))
        segments[base].remove(gone)
        assert found(judged_alone(log, segments)) == [("abort-not-indexed", f"log-0/0@{gone[1]}")]


def judged_alone(log: Sequence[Batch], segments: Segments) -> CheckerResult:
    seen = observed("n1", replica(log))
    return check_replicas(history_of(recovered((1,)), final_read(len(log)), seen, index(segments)))
