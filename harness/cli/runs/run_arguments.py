"""The arguments of ``krucible run`` that decide what is run."""

from pathlib import Path
from typing import NamedTuple

import msgspec

from harness.cli.options.topologies import TopologyChoice
from harness.plan.kafka_choice import KafkaChoice
from harness.plan.planning import RunOptions
from harness.plan.scenario_files import is_file, name_of


class ScenarioChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The options that change a scenario's schedule or load, or put a bug into Kafka."""

    duration_s: int | None
    fault: tuple[str, ...]
    gambit: tuple[str, ...]
    from_version: str | None
    acks: str | None
    idempotent: bool | None
    rate: int | None
    seeded_bug: str | None


class NamedScenario(NamedTuple):
    """The name of a scenario, and its file if it is not in the catalogue."""

    scenario: str
    scenario_file: str | None


def named_scenario(text: str) -> NamedScenario:
    """Return the scenario that an argument names: one of the catalogue, or a file."""
    if not is_file(text):
        return NamedScenario(text, None)
    file = Path(text).resolve()
    return NamedScenario(name_of(file), str(file))


class RunArguments(NamedTuple):
    """All that decides what is run, except for the seed."""

    named: NamedScenario
    kafka: KafkaChoice
    topology: TopologyChoice
    changes: ScenarioChanges

    def options(self, seed: int) -> RunOptions:
        """Return the options of the run with this seed."""
        kafka, topology, changes = self.kafka, self.topology, self.changes
        return RunOptions(
            scenario=self.named.scenario,
            seed=seed,
            scenario_file=self.named.scenario_file,
            kafka_version=kafka.kafka_version,
            from_version=changes.from_version,
            duration_s=changes.duration_s,
            fault=changes.fault,
            gambit=changes.gambit,
            mode=topology.mode,
            controllers=topology.controllers,
            brokers=topology.brokers,
            quorum=topology.quorum,
            feature=dict(topology.feature),
            config=dict(topology.config),
            jvm_option=topology.jvm_option,
            node_file=topology.node_file,
            acks=changes.acks,
            idempotent=changes.idempotent,
            rate=changes.rate,
            seeded_bug=changes.seeded_bug,
            image_source=kafka.image_source,
            kafka_tarball=kafka.kafka_tarball,
            kafka_image=kafka.kafka_image,
        )
