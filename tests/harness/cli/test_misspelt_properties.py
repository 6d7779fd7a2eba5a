"""``--config``: a name that Kafka does not have is passed on with a warning."""

import json

import pytest

from harness import cli

DRY = ["run", "exploratory/chaos", "--seed", "1", "--dry-run"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["--config", "min.insync.replica=2"],
            "min.insync.replica: Kafka 4.3.1 has no such property; did you mean min.insync.replicas?",
        ),
        (
            ["--config", "reserved.broker.max.id=9"],
            "reserved.broker.max.id: Kafka 4.3.1 has no such property; it was in 3.5.2 to 3.9.0",
        ),
        (
            ["--config", "foo=1"],
            "foo: Kafka 4.3.1 has no such property, and ignores it unless a plugin reads it",
        ),
        (
            ["--kafka-version", "4.0.0", "--config", "num.partition=2"],
            "num.partition: Kafka 3.5.2 to 4.4.0 have no such property; did you mean num.partitions?",
        ),
    ],
)
def test_a_name_that_kafka_does_not_have_is_reported(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke([*DRY, "--kafka-version", "4.3.1", *words]) == 0
    output = capsys.readouterr()
    assert output.err == f"warning  --config {expected}\n"
    assert output.out.startswith("dry run ")


def test_a_right_name_is_not_reported_and_json_stays_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke([*DRY, "--config", "num.partitions=2"]) == 0
    assert capsys.readouterr().err == ""
    assert cli.invoke([*DRY, "--json", "--config", "num.partition=2"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out)
    assert "did you mean num.partitions?" in output.err


def test_every_command_that_starts_a_cluster_warns(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Before it looks for Docker, which is not there."""
    folder = tmp_path_factory.mktemp("runs")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{folder}/nobody.sock")
    monkeypatch.setenv("KRUCIBLE_RUNS", str(folder))
    for words in (["cluster", "up"], ["run", "smoke/partition", "--seeds", "1..2"]):
        assert cli.invoke([*words, "--config", "num.partition=2"]) == 3
        assert "did you mean num.partitions?" in capsys.readouterr().err
