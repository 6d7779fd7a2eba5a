"""What stands out of a node's log."""

from checkers.history.logged import FindingLogged
from harness.evidence.node_logs import LINES_MAX, findings

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


def test_a_flood_is_cut_and_counted() -> None:
    line = "2026-11-20T22:33:00.001Z ERROR [main] again (a.b)\n"
    found = list(findings(line * (LINES_MAX + 7)))

    assert len(found) == LINES_MAX + 1
    assert found[-1] == FindingLogged(None, None, "ERROR", "7 further lines")


def test_a_quiet_log_has_no_findings() -> None:
    assert not list(findings("2026-11-20T22:33:00.001Z INFO [main] x (a.b)\n"))
    assert not list(findings(""))
