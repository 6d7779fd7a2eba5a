"""What stands out of a node's log."""

import pytest

from checkers.evidence.node_logs import SKIPPED
from checkers.history.logged import FindingLogged
from harness.evidence import node_logs
from harness.evidence.node_logs import SHOWN_MAX, findings

LOG = """\
2026-11-20T22:32:59.469Z INFO [main] all is well (kafka.server.BrokerServer)
2026-11-20T22:33:00.001Z ERROR [main] something broke (kafka.server.BrokerServer)
java.lang.IllegalStateException: why
    at a.b.C.d(C.java:1)
2026-11-20T22:33:01.000Z WARN [main] Uncaught exception in scheduled task 'x' (a.b)
Exception in thread "reaper" java.lang.OutOfMemoryError
2026-11-20T22:33:02.000Z FATAL [main] the end (a.b)
2026-11-20T22:33:03.000Z INFO [main] an ERROR is only mentioned here (a.b)
"""


def test_errors_fatal_lines_and_dead_threads_stand_out() -> None:
    found = [(finding.line, finding.level) for finding in findings(LOG)]

    assert found == [(2, "ERROR"), (5, "WARN"), (6, "WARN"), (7, "FATAL")]


def test_the_exception_that_a_line_logs_belongs_to_it() -> None:
    first, *others = (finding.text for finding in findings(LOG))
    assert first.splitlines()[1:] == ["java.lang.IllegalStateException: why"]
    assert not [text for text in others if "\n" in text]


def test_a_line_without_a_head_takes_its_time_from_the_one_before() -> None:
    (_, _, thread, _) = findings(LOG)

    assert thread.at == "2026-11-20T22:33:01.000Z"


SHOWN = "2026-11-20T22:33:00.001Z ERROR [main] again (a.b)\n"
REFUSED = (
    "2026-11-20T22:33:00.002Z ERROR [ReplicaManager broker=1] Error processing append operation on partition"
    " log-0-1 (kafka.server.ReplicaManager)\n"
    "org.apache.kafka.common.errors.OutOfOrderSequenceException: Out of order sequence number for producer 7"
    " at offset 5 in partition log-0-1: 7 (incoming seq. number), 5 (current end sequence number)\n"
)
FATAL = "2026-11-20T22:33:02.000Z FATAL [main] the end (a.b)\n"


def test_a_flood_that_no_rule_reads_is_cut_and_counted() -> None:
    found = list(findings(SHOWN * (SHOWN_MAX + 7)))

    assert len(found) == SHOWN_MAX + 1
    assert found[-1] == FindingLogged(None, None, "ERROR", "7 further lines", unjudged=True)


def test_what_a_rule_reads_is_kept_behind_a_flood() -> None:
    *shown, refusal, fatal, further = findings(SHOWN * (SHOWN_MAX + 7) + REFUSED + FATAL)

    assert len(shown) == SHOWN_MAX
    assert "Out of order sequence number for producer 7" in refusal.text
    assert (refusal.line, fatal.level) == (SHOWN_MAX + 8, "FATAL")
    assert further.text == "7 further lines"


def test_a_flood_that_a_rule_reads_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_logs, "ENTRIES_MAX", 2)
    *kept, further = findings(REFUSED * 3 + SHOWN)

    assert [finding.line for finding in kept] == [1, 3, 7]
    assert further == FindingLogged(None, None, "ERROR", "1 further lines")


def test_a_marker_that_a_coordinator_skipped_stands_out_although_it_is_information() -> None:
    line = f"2026-11-20T22:33:00.001Z INFO [sender] {SKIPPED} Set(txn-0-1) while trying to send markers (a.b)"
    (finding,) = findings(f"2026-11-20T22:32:59.000Z INFO [main] x (a.b)\n{line}\n")
    assert (finding.line, finding.level, finding.text) == (2, "INFO", line)


def test_a_quiet_log_has_no_findings() -> None:
    assert not list(findings("2026-11-20T22:33:00.001Z INFO [main] x (a.b)\n"))
    assert not list(findings(""))
