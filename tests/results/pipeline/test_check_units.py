"""Judged in units, a run has the verdict that one process gives it, byte for byte; signatures."""

import pickle
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest

from checkers import judge as judging
from checkers.history.reading import HistoryError, read_history
from checkers.judge import judge
from checkers.verdict.verdict import Anomaly, CheckerResult, Validity, Verdict
from results.pipeline.rows.verdicts import signature
from results.pipeline.tasks import units
from results.pipeline.tasks.units import READING, RUN, JudgedRun, ShareResult, judged, shares_of_run, units_of
from tests.checkers.evidence.hole_histories import told
from tests.results.pipeline.judged_runs import histories, written

HISTORIES = histories()


def in_units(folder: Path, shares: int) -> tuple[Verdict, dict[str, float], list[str]]:
    """The verdict, the seconds, and the names of the units, each of which travels as bytes."""
    found: dict[str, list[ShareResult]] = defaultdict(list)
    names = []
    for unit in units_of(str(folder), shares):
        names.append(unit.name)
        content = pickle.loads(pickle.dumps(unit.content))  # noqa: S301 - our own bytes
        if unit.name == RUN:
            assert isinstance(content, JudgedRun)
            return *units.verdict_and_seconds(content, found), names
        found[unit.name.split("/")[0]].append(pickle.loads(pickle.dumps(judged(content))))  # noqa: S301 - same
    raise AssertionError("no unit of the run itself")


@pytest.mark.parametrize("name", HISTORIES)
def test_a_verdict_is_that_of_one_process(name: str, tmp_path: Path) -> None:
    folder = written(tmp_path, name, HISTORIES[name])
    whole = msgspec.json.encode(judge(read_history(folder)))
    for shares in (1, 2, 9):
        verdict, seconds, _ = in_units(folder, shares)
        assert msgspec.json.encode(verdict) == whole
        assert seconds.keys() == {*judging.CHECKERS, READING}


def test_a_lost_write_has_the_same_known_cause(tmp_path: Path) -> None:
    folder = written(tmp_path, "hole", told().history())
    verdict = in_units(folder, 3)[0]
    assert verdict == judge(read_history(folder))
    lost = [one for one in verdict.results[0].anomalies if one.id == "lost-write"]
    assert all("roll-before-power-loss" in one.explanation[-1] for one in lost)
    assert lost


def test_the_histories_are_of_all_kinds() -> None:
    found = {name: judge(history) for name, history in HISTORIES.items()}
    ids = {name for verdict in found.values() for result in verdict.results for name in result.counts}
    assert {"lost-write", "inconsistent-offsets", "duplicate", "nonlinearizable", "lost-value"} <= ids


def test_a_large_run_is_cut_and_a_small_one_is_not(tmp_path: Path) -> None:
    folder = written(tmp_path, "correct", HISTORIES["correct"])
    assert in_units(folder, 1)[2] == [RUN]
    assert in_units(folder, 5)[2] == [*(f"log/{number}" for number in range(5)), RUN]
    assert [shares_of_run(size, 100) for size in (0, 199, 200, 201, 5000)] == [1, 1, 2, 3, 50]


def test_a_share_that_raises_is_judged_in_one_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(tmp_path, "lost", HISTORIES["lost"])

    def broken(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(units, "check_log_part", broken)
    assert in_units(folder, 3)[0] == judge(read_history(folder))


def test_a_checker_that_raises_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(tmp_path, "lost", HISTORIES["lost"])

    def broken(*_: object) -> CheckerResult:
        raise ValueError("no such thing")

    monkeypatch.setattr(units, "columns_of", broken)
    monkeypatch.setitem(judging.CHECKERS, "log", broken)
    (verdict, _, names) = in_units(folder, 3)
    assert names == [RUN]
    assert verdict.results[0].validity is Validity.UNKNOWN
    assert verdict.results[0].unknown_because is not None
    assert verdict.results[0].unknown_because.startswith("the checker raised ValueError: no such thing (")


def test_a_folder_without_journals_is_reported(tmp_path: Path) -> None:
    with pytest.raises(HistoryError):
        list(units_of(str(tmp_path), 1))


def anomaly(summary: str) -> Anomaly:
    return Anomaly("lost-write", summary, "guarantee", "source")


def test_the_same_failure_has_the_same_signature() -> None:
    one = signature("log", anomaly("17 was acknowledged at log-0/3@1042 by c1"), ["log-0"], ["kill"])
    other = signature("log", anomaly("9 was acknowledged at orders/1@7 by c2"), ["orders"], ["kill"])
    assert one == other
    assert len(one) == 16


def test_long_names_of_exceptions_distinguish_failures() -> None:
    texts = [
        f"n1 at 3.0 s: {name}" for name in ("java.io.UncheckedIOException", "java.lang.OutOfMemoryError")
    ]
    one, other = (signature("nodes", anomaly(text), ["log-0"], []) for text in texts)
    assert one != other


def test_the_path_of_a_circle_makes_no_other_failure() -> None:
    paths = (
        "2 transactions in a circle (G-single): T1 wr T2 rw T1",
        "3 transactions in a circle (G-single): T1 ww",
    )
    one, other = (signature("transactions", anomaly(path), ["log-0"], []) for path in paths)
    assert one == other


@pytest.mark.parametrize(
    ("checker", "summary", "faults"),
    [
        ("transactions", "1 was acknowledged", ["kill"]),
        ("log", "1 was returned", ["kill"]),
        ("log", "1 was acknowledged", ["kill", "partition"]),
        ("log", "1 was acknowledged", []),
    ],
)
def test_another_failure_has_another_signature(checker: str, summary: str, faults: list[str]) -> None:
    usual = signature("log", anomaly("1 was acknowledged"), ["log-0"], ["kill"])
    assert signature(checker, anomaly(summary), ["log-0"], faults) != usual
