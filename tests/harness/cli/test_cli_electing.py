"""``krucible elect``: how partitions are named, what is printed, and the exit code."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import cli
from tests.harness.fakes.electing_node import FakeElectingNode

GOOD = '{"partitions":[{"topic":"foo","partition":1},{"topic":"foo","partition":0}]}'


@pytest.fixture
def node() -> Iterator[FakeElectingNode]:
    with FakeElectingNode() as made:
        yield made


def elect(node: FakeElectingNode, *words: str, election: str = "preferred") -> int:
    host, port = node.address
    return cli.invoke(["elect", "--type", election, "--bootstrap-server", f"{host}:{port}", *words])


def test_every_partition_has_a_line_and_kafkas_words(
    node: FakeElectingNode, capsys: pytest.CaptureFixture[str]
) -> None:
    node.codes = {
        ("foo", 2): (80, "the replica\x1b is not in sync"),
        ("foo", 1): (84, None),
        ("foo", 0): (0, None),
        ("foo", 3): (7, None),
    }
    words = [word for number in range(4) for word in ("--partition", str(number))]

    assert elect(node, "--topic", "foo", *words, election="unclean") == 1
    assert capsys.readouterr().out.splitlines() == [
        "foo-0  elected",
        "foo-1  already elected (84)",
        "foo-2  error PREFERRED_LEADER_NOT_AVAILABLE (80): the replica\\x1b is not in sync",
        "foo-3  error REQUEST_TIMED_OUT (7); the election may still be held",
        "unclean election: 1 elected, 1 already elected, 2 refused",
    ]
    assert node.elections == [(1, [("foo", [0, 1, 2, 3])], 60_000)]


def test_all_partitions_of_the_cluster(node: FakeElectingNode, capsys: pytest.CaptureFixture[str]) -> None:
    node.codes = {("foo", 0): (0, None)}

    assert elect(node, "--all", "--timeout-ms", "1500") == 0
    assert capsys.readouterr().out.splitlines() == [
        "foo-0  elected",
        "preferred election: 1 elected, all others needed none, 0 refused",
    ]
    assert node.elections == [(0, None, 1500)]


def test_the_file_of_the_kip(
    node: FakeElectingNode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.json").write_text(GOOD)
    node.codes = {("foo", 0): (84, None), ("foo", 1): (84, None)}

    assert elect(node, "--file", str(tmp_path / "f.json"), "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["results"][0] == {
        "topic": "foo",
        "partition": 0,
        "code": 84,
        "error": "ELECTION_NOT_NEEDED",
        "message": None,
    }
    assert (report["type"], report["code"], report["error"]) == ("preferred", 0, None)
    assert report["tally"] == {"elected": 0, "not_needed": 2, "refused": 0, "unanswered": 0}
    assert node.elections == [(0, [("foo", [1, 0])], 60_000)]


def test_a_refused_request_is_one_line(node: FakeElectingNode, capsys: pytest.CaptureFixture[str]) -> None:
    node.code = 31

    assert elect(node, "--topic", "foo", "--partition", "0") == 1
    assert capsys.readouterr().out == "the request was refused: CLUSTER_AUTHORIZATION_FAILED (31)\n"


def test_what_kafka_says_nothing_of_is_reported(
    node: FakeElectingNode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert elect(node, "--topic", "foo", "--partition", "0") == 3
    assert capsys.readouterr().out.splitlines() == [
        "foo-0  no answer",
        "preferred election: 0 elected, 0 already elected, 0 refused, 1 without an answer",
    ]


def test_no_answer_leaves_it_open(node: FakeElectingNode, capsys: pytest.CaptureFixture[str]) -> None:
    node.codes = None

    assert elect(node, "--all", "--timeout-ms", "1") == 3
    stderr = capsys.readouterr().err
    assert "no answer to the election" in stderr
    assert "may have been held" in stderr


def test_a_controller_is_asked_where_no_broker_is_named() -> None:
    with FakeElectingNode(is_controller=True) as controller:
        controller.code = 41
        assert elect(controller, "--all") == 1
        assert len(controller.elections) == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "no partitions are selected"),
        (["--all", "--topic", "foo", "--partition", "0"], "partitions are selected in more than one way"),
        (["--topic", "foo"], "--topic without --partition"),
        (["--partition", "1"], "--partition without --topic"),
        (["--topic", "foo", "--partition", "-1"], "--partition with a whole number from 0"),
        (["--file", "there/is/none"], "No such file"),
        (["--file", "tests"], "Is a directory"),
    ],
)
def test_a_wrong_selection_is_refused_before_any_request(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["elect", "--type", "unclean", "--bootstrap-server", "127.0.0.1:1", *words]) == 64
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"partitions":[\n{"topic":"foo" "partition":1}]}', "line 2 column 16"),
        ('{"partitions":[{"topic":"foo","partition":-1}]}', "$.partitions[0].partition"),
        ('{"partitions":[{"topic":"","partition":1}]}', "$.partitions[0].topic"),
        ('{"partitions":[{"topic":"foo","partition":1,"election":1}]}', "unknown field `election`"),
        ('{"partitions":[]}', "$.partitions"),
        ("[]", "Expected `object`"),
        ("[" * 100_000, "recursion"),
        ('{"partitions":[{"topic":"\xff"}]}', "can't decode"),
        (GOOD.replace('"partition":0', '"partition":1'), "foo-1"),
    ],
)
def test_a_wrong_file_is_reported_with_its_path(
    content: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "f.json"
    file.write_bytes(content.encode("latin-1"))

    assert cli.invoke(["elect", "--type", "preferred", "--file", str(file)]) == 64
    stderr = capsys.readouterr().err
    assert expected in stderr
    assert str(file) in stderr
