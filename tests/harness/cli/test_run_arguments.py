"""``krucible run``: every option reaches the plan, and the structs have the options that the command has."""

import json
import shlex
from pathlib import Path

import click
import pytest

from harness import cli
from harness.cli.options.hosts import HostChoice
from harness.cli.options.structs import gathered
from harness.cli.options.topologies import TopologyChoice
from harness.cli.runs.run import run
from harness.cli.runs.run_arguments import RunArguments, ScenarioChanges, named_scenario
from harness.plan.kafka_choice import KafkaChoice
from harness.plan.planning import RunOptions
from harness.vocabulary.topology import Mode, NodeFile, Quorum

CHANGES = ScenarioChanges(
    duration_s=60,
    fault=("kill",),
    gambit=("rolling-bounce",),
    from_version="4.2.0",
    acks="1",
    idempotent=False,
    rate=50,
    seeded_bug="min-isr-ignored",
)
TOPOLOGY = TopologyChoice(
    mode=Mode.ISOLATED,
    controllers=1,
    brokers=2,
    quorum=Quorum.STATIC,
    feature=(("metadata.version", 20),),
    config=(("a.b", "c"),),
    jvm_option=("-Xmx1g",),
    node_file=(NodeFile("/a", "/b"),),
)
KAFKA = KafkaChoice(
    kafka_version="4.3.1", image_source="registry", kafka_tarball="/k.tgz", kafka_image="k:4.3.1"
)


def test_every_option_of_a_run_has_its_value() -> None:
    options = RunArguments(named_scenario("smoke/partition"), KAFKA, TOPOLOGY, CHANGES).options(7)
    assert options == RunOptions(
        scenario="smoke/partition",
        seed=7,
        kafka_version="4.3.1",
        from_version="4.2.0",
        duration_s=60,
        fault=("kill",),
        gambit=("rolling-bounce",),
        mode=Mode.ISOLATED,
        controllers=1,
        brokers=2,
        quorum=Quorum.STATIC,
        feature={"metadata.version": 20},
        config={"a.b": "c"},
        jvm_option=("-Xmx1g",),
        node_file=(NodeFile("/a", "/b"),),
        acks="1",
        idempotent=False,
        rate=50,
        seeded_bug="min-isr-ignored",
        image_source="registry",
        kafka_tarball="/k.tgz",
        kafka_image="k:4.3.1",
    )
    unasked = RunOptions(scenario="", seed=0)
    same = [name for name in options.__struct_fields__ if getattr(options, name) == getattr(unasked, name)]
    assert same == ["scenario_file"]


def test_a_file_is_named_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("")
    assert named_scenario(str(file)) == ("files/mine", str(file))
    assert named_scenario("smoke/partition") == ("smoke/partition", None)


def test_the_command_has_an_option_for_every_field() -> None:
    names = {parameter.name for parameter in run.params}
    fields = {
        name
        for kind in (ScenarioChanges, HostChoice, KafkaChoice, TopologyChoice)
        for name in kind.__struct_fields__
    }
    assert fields - names == set()
    own = {"scenario", "again", "seed", "seeds", "keep", "dry_run", "as_json", "runs"}
    assert names - fields == own
    assert set(RunOptions.__struct_fields__) - fields == {"scenario", "seed", "scenario_file"}


def test_a_dry_run_with_all_kinds_of_options_repeats_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plugin.jar").write_text("")
    words = [
        *("--kafka-version", "4.3.1", "--duration-s", "60", "--fault=kill", "--mode", "isolated"),
        *(
            "--controllers",
            "3",
            "--brokers",
            "3",
            "--quorum",
            "static",
            "--config",
            "log.segment.bytes=1048576",
        ),
        *("--jvm-option=-Dx=1", f"--node-file={tmp_path}/plugin.jar:/x.jar", "--acks", "1"),
        *("--no-idempotent", "--rate", "50", "--image-source", "artifacts"),
    ]
    dry = ["run", "exploratory/chaos", "--seed", "3", "--dry-run", "--json"]
    assert cli.invoke([*dry, *words]) == 0
    reproduce = json.loads(capsys.readouterr().out)["reproduce"]
    repeated = shlex.split(reproduce)[1:]
    assert set(words) <= set(repeated)
    assert cli.invoke([*repeated, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reproduce"] == reproduce


def test_a_struct_stands_before_what_else_the_command_gets() -> None:
    seen: list[tuple[HostChoice, str, Path]] = []

    @click.command()
    @click.option("--master")
    @click.option("--clusters-per-host", type=int)
    @click.option("--scratch", type=click.Path(path_type=Path))
    @click.option("--runs", type=click.Path(path_type=Path))
    @gathered(HostChoice)
    @click.pass_context
    def command(context: click.Context, hosts: HostChoice, *, runs: Path) -> None:
        seen.append((hosts, str(context.info_name), runs))

    command.main(["--runs", "r", "--clusters-per-host", "2"], prog_name="it", standalone_mode=False)
    assert seen == [(HostChoice(master=None, clusters_per_host=2, scratch=None), "it", Path("r"))]
