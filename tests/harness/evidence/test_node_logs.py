"""Nodes' logs are saved each for itself, and what of them is lacking is recorded."""

from pathlib import Path
from typing import Any, cast

import pytest

from checkers.history.logged import (
    CLEANED,
    EPOCH_BEGUN,
    INSTANCE_REFUSED,
    ISR_SHRUNK,
    LOADED,
    LOG_CUT,
    LOG_LACKING,
    METADATA_TRUNCATED,
    NODE_LOG,
    QUORUM_VIEW,
    TRUNCATED,
)
from checkers.history.operations import History
from checkers.history.reading import read_history
from checkers.history.sources import Source, lacking_of
from checkers.verdict.withholding import missing_parts_of
from harness.cluster.containers import NodeContainers
from harness.cluster.logs import save_logs
from harness.errors import EngineError
from harness.evidence import node_logs
from harness.evidence.node_logs import gather_logs
from harness.record.journal import Clock, Journals, Recorder
from tests.harness.evidence import test_instances_refused as refusals
from tests.harness.evidence import test_quorum_views as views
from tests.harness.evidence.test_epochs_begun import BEGUN
from tests.harness.evidence.test_log_ends import SHRUNK, START, completed, loader

FIRST = (
    "2026-11-26T05:05:01.398Z INFO [main] Registered `kafka:type=kafka.Log4jController` MBean (kafka.utils)"
)
BAD = "2026-11-26T05:05:02.000Z ERROR [main] it hurts (kafka.server)"


class Containers:
    """One node's containers, as far as its log goes."""

    def __init__(self, log: str | None) -> None:
        self._log = log

    def logs(self) -> bytes:
        if self._log is None:
            raise EngineError("the Docker engine did not answer", got="read timed out\nafter 60 s")
        return self._log.encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("n1", "n2", "n3"):
        (tmp_path / "nodes" / name).mkdir(parents=True)
    return tmp_path


def nodes(**logs: str | None) -> dict[str, NodeContainers]:
    return {name: cast("NodeContainers", Containers(log)) for name, log in logs.items()}


def gathered(folder: Path, **logs: str | None) -> History:
    """The history of a run that did nothing but gather these logs."""
    journals = Journals(folder, "r", Clock())
    recorder = Recorder(journals.open("runner"), "runner")
    gather_logs(nodes(**logs), folder, recorder)
    journals.close()
    return read_history(folder)


def observed_values(history: History, key: str) -> list[tuple[str | None, Any]]:
    return [(operation.node, operation.value) for operation in history.observed(key)]


def test_a_log_that_can_not_be_fetched_keeps_no_other(folder: Path) -> None:
    saved = save_logs(nodes(n1=FIRST, n2=None, n3=BAD), folder)
    assert saved.texts == {"n1": FIRST.encode(), "n3": BAD.encode()}
    assert {path.parent.name for path in folder.glob("nodes/*/server.log")} == {"n1", "n3"}
    assert saved.complaints() == [
        "the log of n2 could not be fetched: the Docker engine did not answer: read timed out after 60 s"
    ]


def test_what_the_others_logged_is_recorded_and_the_lack_is_reported(folder: Path) -> None:
    history = gathered(folder, n1=None, n2=f"{FIRST}\n{BAD}")
    assert [node for node, _ in observed_values(history, NODE_LOG)] == ["n2"]
    why = "its log could not be fetched: the Docker engine did not answer: read timed out after 60 s"
    assert observed_values(history, LOG_LACKING) == [("n1", {"what": "all", "why": why})]
    lost = missing_parts_of(history)
    assert lost is not None
    assert lacking_of(lost.missing, Source.BROKER_LOGS) == (
        f"the history lacks records of brokers' logs (broker n1: {why})"
    )


def test_a_log_without_its_beginning_is_kept_and_reported(folder: Path) -> None:
    history = gathered(folder, n1=BAD, n2=f"{FIRST}\n{BAD}", n3="")
    assert [node for node, _ in observed_values(history, NODE_LOG)] == ["n1", "n2"]
    ((node, lack),) = observed_values(history, LOG_LACKING)
    assert (node, lack["what"]) == ("n1", "beginning")
    assert "the engine dropped its oldest lines" in lack["why"]
    assert {name for name, _ in observed_values(history, CLEANED)} == {"n2", "n3"}
    lost = missing_parts_of(history)
    assert lost is not None
    assert lost.missing == {f"broker n1: {lack['why']}", f"controller n1: {lack['why']}"}


CUT = (
    "2026-11-23T13:15:48.127Z WARN [ReplicaFetcherThread-0-3] [UnifiedLog partition=log-0-4, dir=/data] "
    "Truncating log-0-4 to offset 609 below high watermark 779 (kafka.log.UnifiedLog)"
)
LEFT = (
    "2026-11-28T02:43:24.205Z INFO [ReplicaFetcherThread-0-3] [UnifiedLog partition=log-0-3, dir=/data] "
    "Truncating to offset 2589 (kafka.log.UnifiedLog)"
)
LINES = {
    LOADED: [START, loader("log-0-4", 7), completed(4, 7)],
    ISR_SHRUNK: [SHRUNK],
    TRUNCATED: [CUT],
    EPOCH_BEGUN: [BEGUN.format("Some(a)", 4)],
    LOG_CUT: [LEFT],
    QUORUM_VIEW: [views.LINE.format(0, views.STARTED)],
    METADATA_TRUNCATED: [views.LINE.format(0, views.CUT)],
    INSTANCE_REFUSED: [refusals.loaded(9), refusals.refused()],
}
"""Of each kind what gives one entry."""


def test_no_kind_of_line_is_left_out_silently() -> None:
    """The next tests are about every kind that a history has a limited number of."""
    assert LINES.keys() == set(node_logs._KEYS.values())


@pytest.mark.parametrize("kind", LINES)
def test_entries_beyond_the_limit_are_reported_and_cost_no_other_kind(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_logs, "ENTRIES_MAX", 2)
    others = [line for other, lines in LINES.items() if other != kind for line in lines * 2]
    history = gathered(folder, n1="\n".join([FIRST, *LINES[kind] * 3, *others]))
    assert {key: len(observed_values(history, key)) for key in LINES} == dict.fromkeys(LINES, 2)
    why = "only the first 2 of 3 entries are recorded"
    assert observed_values(history, LOG_LACKING) == [("n1", {"what": kind, "why": why})]
    lost = missing_parts_of(history)
    assert lost is not None
    assert lost.missing == {f"{kind} of broker n1: {why}", f"{kind} of controller n1: {why}"}


def test_entries_up_to_the_limit_lack_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_logs, "ENTRIES_MAX", 2)
    history = gathered(
        folder, n1="\n".join([FIRST, *(line for lines in LINES.values() for line in lines * 2)])
    )
    assert (observed_values(history, LOG_LACKING), missing_parts_of(history)) == ([], None)
