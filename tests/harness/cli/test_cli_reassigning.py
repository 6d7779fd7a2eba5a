"""``krucible reassign``: plans, numbered requests, how far they are, and the exit codes."""

import io
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness import cli
from harness.administration import sighting
from harness.administration.addressing import Reach
from harness.administration.reassignment_plan import read_plan
from harness.administration.requests import (
    PartitionStatus,
    ReassignmentState,
    Received,
    Request,
    RequestedPartition,
)
from harness.cli.clusters import reassign
from harness.cli.clusters.reassign_text import BarView, LineView, view_for
from harness.errors import UsageError
from tests.harness.fakes.moving import ALTER_CONFIGS, BROKER, LIST, LOG_DIRS, REASSIGN, FakeMoving

P0, P1 = ("log-0", 0), ("log-0", 1)


class Shell:
    """Types commands for one cluster."""

    def __init__(self, node: FakeMoving, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.node = node
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *words: str) -> int:
        host, port = self.node.address
        return cli.invoke(["reassign", *words, "--bootstrap-server", f"{host}:{port}"])

    def execute(self, plan: Mapping[tuple[str, int], list[int]], *words: str) -> int:
        partitions = [{"topic": t, "partition": n, "replicas": r} for (t, n), r in plan.items()]
        (self.folder / "plan.json").write_text(json.dumps({"version": 1, "partitions": partitions}))
        return self("execute", "--file", str(self.folder / "plan.json"), *words)

    def printed_lines(self) -> list[str]:
        return self._capsys.readouterr().out.splitlines()

    def complained(self) -> str:
        return self._capsys.readouterr().err

    def states(self, *words: str) -> list[str]:
        self.printed_lines()
        assert self("progress", "--json", *words) == 0
        return [one["state"] for one in json.loads(self.printed_lines()[0])["partitions"]]


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Shell]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(sighting, "SETTLE_BOUND_S", 0.05)
    monkeypatch.setattr(reassign, "FOLLOW_INTERVAL_S", 0.01)
    with FakeMoving() as node:
        yield Shell(node, tmp_path, capsys)


def test_a_move_from_beginning_to_end(shell: Shell) -> None:
    shell.node.sizes = {P0: 400, P1: 80}
    assert shell.execute({P0: [1, 3], P1: [2, 1]}) == 0
    assert shell.printed_lines() == ["request 1", "  log-0/0  accepted", "  log-0/1  accepted"]
    shell.node.arrive(P1)

    assert shell("progress") == 0
    first, *rest = shell.printed_lines()
    assert re.fullmatch(r"request 1, asked 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ: 1 of 2 complete", first)
    assert rest == [
        "  log-0/0  ongoing",
        "    broker 3: unknown of 400 bytes",
        "  log-0/1  complete",
    ]
    assert shell("verify") == 2
    assert shell.printed_lines()[-1] == "not finished"
    shell.node.arrive()
    assert shell("verify") == 0


def test_progress_as_json(shell: Shell) -> None:
    shell.execute({P0: [3, 1]})
    shell.node.replicas[P0] = (1, 2)
    shell.node.sizes = {P0: 400}
    shell.printed_lines()
    assert shell("progress", "--json", "--request", "1") == 0
    report = json.loads(shell.printed_lines()[0])
    assert report.pop("asked_at").endswith("Z")
    assert report == {
        "request": 1,
        "partitions": [
            {
                "topic": "log-0",
                "partition": 0,
                "state": "ongoing",
                "detail": "",
                "wanted": [3, 1],
                "before": [1, 2],
                "receiving": [{"broker": 3, "numerator": None, "denominator": None, "percentage": None}],
            }
        ],
    }


def test_an_unknown_number_names_those_that_are_known(shell: Shell) -> None:
    assert shell("progress") == 64
    assert "no request was made" in shell.complained()
    shell.execute({P0: [1, 3]})
    shell.execute({P1: [1, 3]})
    assert shell("progress", "--request", "9") == 64
    assert "one of 1, 2" in shell.complained()


def test_a_refused_request_is_reported_and_stays_refused(shell: Shell) -> None:
    shell.node.refusals[P0] = 39
    assert shell.execute({P0: [9], ("nosuch", 0): [1], P1: [1, 3]}) == 1
    assert shell.printed_lines()[1:] == [
        "  log-0/0  refused: INVALID_REPLICA_ASSIGNMENT (39) no",
        "  log-0/1  accepted",
        "  nosuch/0  refused: UNKNOWN_TOPIC_OR_PARTITION (3) no",
    ]
    shell.node.arrive()
    assert shell.states() == ["refused", "refused", "complete"]
    assert shell("verify") == 1


def test_a_second_request_overrides_the_first(shell: Shell) -> None:
    shell.execute({P0: [1, 3], P1: [1, 3]})
    shell.execute({P0: [1, 4]})
    assert shell.states("--request", "1") == ["overridden", "ongoing"]
    assert shell("cancel", "--request", "1") == 0
    assert shell.printed_lines() == [
        "  log-0/0  left alone: request 2 has it now",
        "  log-0/1  accepted",
    ]
    assert shell.node.moving == {P0: (1, 4)}
    assert shell.states() == ["ongoing"]


def test_a_cancellation_says_what_came(shell: Shell) -> None:
    shell.node.alive = [1, 2, 3]
    shell.execute({P0: [1, 3], P1: [1, 3]}, "--throttle", "1000")
    shell.node.arrive(P1)
    shell.printed_lines()
    assert shell("cancel") == 1
    assert shell.printed_lines() == [
        "  log-0/0  accepted",
        "  log-0/1  refused: NO_REASSIGNMENT_IN_PROGRESS (85) no",
        "throttles removed",
    ]
    assert shell.states() == ["cancelled", "complete"]
    assert shell.node.replicas[P0] == (1, 2)


def test_nothing_is_cancelled_where_all_was_refused(shell: Shell) -> None:
    shell.execute({("nosuch", 0): [1]})
    shell.printed_lines()
    assert shell("cancel") == 1
    assert shell.printed_lines() == ["  nosuch/0  left alone: it was refused"]
    assert [key for key, _ in shell.node.asked].count(REASSIGN) == 1


def test_limits_last_until_verified(shell: Shell) -> None:
    shell.node.alive = [1, 2, 3]
    shell.execute({P0: [1, 3]}, "--throttle", "1000")
    assert shell.node.configs[BROKER, "3"]["follower.replication.throttled.rate"] == "1000"
    assert shell("list") == 0
    assert re.search(
        r"request 1  \S+  1 partition  not known to have ended, throttled", "\n".join(shell.printed_lines())
    )
    assert shell("verify") == 2
    assert shell.printed_lines()[-1] == "not finished; its throttles stay"
    shell.node.arrive()
    assert shell("verify") == 0
    assert shell.printed_lines()[-1] == "throttles removed"
    assert not any(shell.node.configs.values())
    assert shell("verify") == 0
    assert "throttles removed" not in shell.printed_lines()


def test_verify_as_json_says_what_became_of_throttles_on_stderr(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.node.alive = [1, 2, 3]
    assert shell.execute({P0: [1, 3]}, "--throttle", "1000") == 0
    shell.printed_lines()
    for exit_code, state, note in ((2, "ongoing", "not finished; "), (0, "complete", "throttles removed")):
        assert shell("verify", "--json") == exit_code
        captured = capsys.readouterr()
        assert [one["state"] for one in json.loads(captured.out)["partitions"]] == [state]
        assert note in captured.err
        shell.node.arrive()


def test_a_broker_that_is_down_keeps_its_limit_until_it_is_up(shell: Shell) -> None:
    assert shell.execute({P0: [1, 3]}, "--throttle", "1000") == 0
    assert shell.printed_lines()[1:3] == [f"  broker {n} does not answer: it has no throttle" for n in (2, 3)]
    shell.node.arrive()
    shell.node.alive = [1, 2]
    assert shell("verify") == 0
    assert shell.printed_lines()[-1].startswith("  broker 3 does not answer: its throttle stays")
    shell.node.alive = [1, 3]
    assert shell("verify") == 0
    assert shell.printed_lines()[-1] == "throttles removed"


def test_limits_of_a_plan_that_was_refused_are_removed_at_once(shell: Shell) -> None:
    shell.node.alive = [1, 2, 3]
    shell.node.errors[REASSIGN] = 31
    assert shell.execute({P0: [1, 3]}, "--throttle", "1000") == 1
    assert shell.printed_lines()[1:] == [
        "  refused: CLUSTER_AUTHORIZATION_FAILED (31) as the test has it",
        "throttles removed",
    ]
    assert not any(shell.node.configs.values())


def test_without_its_limits_nothing_is_asked_for(shell: Shell) -> None:
    shell.node.errors[ALTER_CONFIGS] = 40
    assert shell.execute({P0: [1, 3]}, "--throttle", "1000") == 3
    assert "INVALID_CONFIG (40)" in shell.complained()
    assert shell.node.moving == {}
    assert shell.states() == ["refused"]
    assert shell("verify") == 3
    assert "krucible reassign verify --request 1" in shell.complained()


@pytest.mark.slow
def test_silence_is_reported_as_what_may_have_happened(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reassign, "TIMEOUT_MS", 2_000)
    shell.node.errors[REASSIGN] = None
    assert shell.execute({P0: [1, 3]}) == 3
    assert "the change may have been made" in shell.complained()
    assert shell.states() == ["unknown"]
    shell.node.moving[P0] = (1, 3)
    assert shell.states() == ["ongoing"]
    assert shell("verify") == 2


def test_what_somebody_else_undid_is_an_error(shell: Shell) -> None:
    shell.execute({P0: [1, 3]})
    shell.node.moving.clear()
    assert shell.states() == ["error"]
    assert shell("verify") == 1


def test_what_a_broker_has_not_learnt_yet_is_waited_for(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sighting, "SETTLE_BOUND_S", 30.0)
    monkeypatch.setattr(sighting, "_PAUSE_S", 0.001)
    shell.execute({P0: [1, 3]})
    shell.node.moving.clear()
    lists = shell.node.answers[LIST]

    def listing(request: Any) -> Any:
        if len(shell.node.listed) == 3:
            shell.node.replicas[P0] = (1, 3)
        return lists(request)

    shell.node.answers[LIST] = listing
    assert shell.states() == ["complete"]


def test_what_ended_is_forgotten_after_its_time(shell: Shell) -> None:
    shell.execute({P0: [1, 2]}, "--keep-finished-s", "0")
    shell.node.arrive()
    assert shell.states() == ["complete"]
    assert shell("progress", "--request", "1") == 64
    assert "was removed" in shell.complained()
    assert shell.execute({P0: [1, 3]}) == 0
    assert shell.printed_lines()[0] == "request 2"


def test_the_list_shows_what_goes_on_whoever_asked(shell: Shell) -> None:
    assert shell("list") == 0
    assert shell.printed_lines() == ["no reassignment is ongoing"]
    shell.node.moving[P1] = (2, 3)
    assert shell("list") == 0
    assert shell.printed_lines() == ["ongoing  log-0/1  replicas 2,3,1  adding 3  removing 1"]
    shell.execute({P0: [1, 2]})
    shell.node.arrive(P0)
    shell.states()
    assert shell("list", "--json") == 0
    report = json.loads(shell.printed_lines()[0])
    assert ([one["id"] for one in report["requests"]], len(report["ongoing"])) == ([1], 1)
    assert shell("list") == 0
    assert shell.printed_lines()[0].endswith("1 partition  ended")


def test_a_list_that_is_refused_is_no_empty_list(shell: Shell) -> None:
    shell.node.errors[LIST] = 41
    assert shell("list") == 3
    assert "NOT_CONTROLLER (41)" in shell.complained()
    shell.execute({P0: [1, 2]})
    assert shell("progress") == 3
    assert "no broker answers" in shell.complained()


def test_a_broker_that_won_t_report_its_sizes_leaves_them_unknown(shell: Shell) -> None:
    shell.node.errors[LOG_DIRS] = 29
    shell.execute({P0: [1, 3]})
    shell.printed_lines()
    assert shell("progress") == 0
    assert shell.printed_lines()[-1] == "    broker 3: unknown of unknown bytes"


def test_brokers_without_a_known_id_report_no_sizes(shell: Shell) -> None:
    address = shell.node.address
    assert sighting.look(Reach((address,), (), None, {address: "named"}, {}), [P0]).sizes == {}


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_following_prints_each_change_once(shell: Shell, words: tuple[str, ...]) -> None:
    shell.execute({P0: [1, 3]})
    lists = shell.node.answers[LIST]

    def listing(request: Any) -> Any:
        answer = lists(request)
        if len(shell.node.listed) == 4:
            shell.node.arrive()
        return answer

    shell.node.answers[LIST] = listing
    shell.printed_lines()
    assert shell("progress", "--follow", *words) == 0
    text = "\n".join(shell.printed_lines())
    assert [text.count("ongoing"), len(re.findall(r"  complete|\"complete\"", text))] == [1, 1]


def test_a_throttle_needs_topics_that_exist(shell: Shell) -> None:
    assert shell.execute({("nosuch", 0): [1]}, "--throttle", "5") == 1
    assert shell.node.configs == {}


REQUEST = Request(1, 0, 0, (RequestedPartition("t", 0, (1,), (2,)), RequestedPartition("t", 1, (1,), (2,))))


def statuses(state: ReassignmentState, *received: Received) -> list[PartitionStatus]:
    return [
        PartitionStatus("t", 0, state, "", received),
        PartitionStatus("t", 1, ReassignmentState.REFUSED, "why", ()),
    ]


def test_bars_move_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("CI", raising=False)
    assert isinstance(view_for(Terminal(), as_json=False), BarView)
    assert isinstance(view_for(Terminal(), as_json=True), LineView)
    assert isinstance(view_for(io.StringIO(), as_json=False), LineView)
    stream = io.StringIO()
    with BarView(Console(file=stream, force_terminal=True, width=100)) as view:
        view.show(REQUEST, statuses(ReassignmentState.ONGOING, Received(1, None, None)))
        view.show(REQUEST, statuses(ReassignmentState.ONGOING, Received(1, 25, 100)))
        (moving, refused) = view._progress.tasks
        assert (moving.completed, moving.total, refused.description) == (25, 100, "t/1")
        view.show(REQUEST, statuses(ReassignmentState.COMPLETE, Received(1, 99, 100)))
        assert moving.completed == 100
    assert "t/0 to broker 1" in stream.getvalue()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "line 1, column 1"),
        ('{\n  "partitions": [}', "line 2, column 18"),
        ("\\xff", "not JSON"),
        ("9" * 5000, "not JSON"),
        ("[]", "got [], expected an object"),
        ("{}", "partitions: got nothing"),
        (
            '{"version": 2, "x": 1, "partitions": []}',
            "version: got 2, expected 1 | x: unknown field | partitions: got []",
        ),
        (
            '{"partitions": [7, {"topic": "", "partition": true, "replicas": [1, 1]}]}',
            'partitions[0]: got 7 | [1].topic: got "" | [1].partition: got true | twice in [1, 1]',
        ),
        (
            '{"partitions": [{"topic": 1, "partition": -1, "replicas": ["1"], "log_dirs": 5, "z": 0}]}',
            'partitions[0].z: unknown | topic: got 1 | partition: got -1 | replicas: got ["1"] | log_dirs',
        ),
        (
            '{"partitions": [{"topic": "a", "partition": 0}, {"topic": "a", "partition": 0, "replicas": 1}]}',
            "[0].replicas: got nothing | [1].replicas: got 1 | a/0: 2 times",
        ),
    ],
)
def test_all_errors_of_a_plan_are_reported_together(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "plan").write_bytes(text.encode().replace(rb"\xff", b"\xff"))
    with pytest.raises(UsageError) as error:
        read_plan(tmp_path / "plan")
    assert error.value.where == str(tmp_path / "plan")
    for part in expected.split(" | "):
        assert part in error.value.got


def test_a_plan_that_is_not_there_is_the_users_error(shell: Shell) -> None:
    assert shell("execute", "--file", str(shell.folder)) == 64
    assert "Is a directory" in shell.complained()


def test_a_plan_of_kafkas_own_tool_is_taken(tmp_path: Path) -> None:
    one = {"topic": "a", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "any"]}
    (tmp_path / "plan").write_text(json.dumps({"version": 1, "partitions": [one]}))
    assert read_plan(tmp_path / "plan") == (("a", 0, (1, 2)),)
