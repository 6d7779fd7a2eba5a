"""Controls: bugs that Kafka has or had, red and green by one script."""

from pathlib import Path

import pytest

from checkers.history.operations import OperationType
from checkers.history.reading import read_history
from checkers.verdict.verdict import Validity
from harness.cli import invoke
from results.store.runs import find_run, load_verdict

pytestmark = pytest.mark.cluster
HANGING = "regressions/kafka-14402-hanging-transaction"
DELAYED = "regressions/kafka-17754-delayed-end-txn"
VERSION_2 = "regressions/kafka-17754-transaction-version-2"
TIMED_OUT = "regressions/kafka-19690-timed-out-producer"
LATE = "regressions/kafka-20785-late-commit"
DELETED = "regressions/kafka-19274-deleted-offsets"
OLDER_EPOCH = "findings/older-epoch"
OLDER_EPOCH_2 = "findings/older-epoch-transaction-version-2"
LATE_OF_OLDER = "regressions/kafka-20785-transaction-version-1"


@pytest.mark.parametrize(
    ("scenario", "version", "expected", "answer"),
    [
        (HANGING, "3.5.2", {"hanging-transaction"}, {"late_produce_error": 0}),
        pytest.param(HANGING, "3.6.2", set(), {"late_produce_error": 48}, marks=pytest.mark.long),
        pytest.param(DELAYED, "4.3.1", {"G1a"}, {"late_end_error": 0}, marks=pytest.mark.long),
        (VERSION_2, "4.3.1", set(), {"late_end_error": 90}),
        pytest.param(
            TIMED_OUT,
            "4.0.0",
            {"old-epoch-hidden"},
            {"timed_out_errors": [48, 47]},
            marks=pytest.mark.long,
        ),
        pytest.param(TIMED_OUT, "4.1.1", set(), {"timed_out_errors": [47, 47]}, marks=pytest.mark.long),
        pytest.param(
            LATE,
            "4.3.1",
            {"old-epoch-hidden"},
            {"late_commit_error": 48, "newer_by": 1},
            marks=pytest.mark.long,
        ),
        pytest.param(DELETED, "4.0.0", {"two-coordinators"}, {}, marks=pytest.mark.long),
        pytest.param(DELETED, "4.1.1", set(), {}, marks=pytest.mark.long),
        pytest.param(
            LATE_OF_OLDER, "4.3.1", set(), {"late_commit_error": 90, "newer_by": 1}, marks=pytest.mark.long
        ),
        pytest.param(
            OLDER_EPOCH,
            "4.3.1",
            {"fenced-by-older-epoch"},
            {"older_epoch_errors": [90, 90], "newest_commit_error": 90},
            marks=pytest.mark.long,
        ),
        pytest.param(
            OLDER_EPOCH_2,
            "4.3.1",
            {"fenced-by-older-epoch"},
            {"older_epoch_errors": [90, 90], "newest_commit_error": 48},
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_request_that_comes_late_is_red_where_the_bug_is(
    tmp_path: Path, scenario: str, version: str, expected: set[str], answer: dict[str, object]
) -> None:
    words = ["run", scenario, "--kafka-version", version, "--seed", "7", "--runs", str(tmp_path)]
    assert invoke(words) == (1 if expected else 0)

    folder = find_run(tmp_path, scenario)
    verdict = load_verdict(folder)
    found = {a.id for result in verdict.results for a in result.anomalies if a.illegal}
    assert expected <= found
    assert (verdict.validity is Validity.INVALID) is bool(expected)
    assert verdict.as_expected is True
    # Neither side is vacuous: the brokers answered the late request as the bug or its fix has it.
    (control,) = [
        o for o in read_history(folder).operations if o.f == "control" and o.type is OperationType.OK
    ]
    assert answer.items() <= control.value.items()


@pytest.mark.long
def test_a_broker_that_restarts_keeps_the_configs_of_deleted_topics(tmp_path: Path) -> None:
    name = "findings/kept-topic-config"
    assert invoke(["run", name, "--seed", "7", "--runs", str(tmp_path)]) == 1
    verdict = load_verdict(find_run(tmp_path, name))
    assert verdict.as_expected is True
    kept = [a for result in verdict.results for a in result.anomalies if a.id == "config-against-log"]
    assert kept
    assert all(anomaly.summary.startswith("b1 reports ") for anomaly in kept), "the one that was restarted"


def test_a_transaction_that_ends_while_a_partition_has_no_leader_is_red(tmp_path: Path) -> None:
    name = "findings/skipped-marker"
    assert invoke(["run", name, "--kafka-version", "4.4.0", "--seed", "7", "--runs", str(tmp_path)]) == 1

    verdict = load_verdict(find_run(tmp_path, name))
    assert verdict.as_expected is True
    (nodes,) = [result for result in verdict.results if result.checker == "nodes"]
    assert nodes.counts.get("marker-skipped", 0) > 0, "the coordinator's log names the cause"
