"""A run knows what it was asked; its report does not reveal where krucible is installed."""

import sys
from dataclasses import replace

import msgspec
import pytest

from harness.cluster.images import JarSource, KafkaImage
from harness.plan.planning import RunOptions, plan_run
from harness.run.identification import identify
from results.run.text import identity_line

IMAGE = KafkaImage("krucible/kafka:4.3.1-x", "4.3.1", JarSource.ARTIFACTS, "sha256:0", "", "17", "0")


def test_the_command_is_recorded_as_it_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/home/somebody/krucible/.venv/bin/krucible", "run", "smoke/partition"])
    plan = plan_run(RunOptions(scenario="smoke/partition", seed=7))
    identity = identify(plan, "r", "2026-01-01T00:00:00Z", (IMAGE,), "20.10")
    assert identity.argv == ("krucible", "run", "smoke/partition")
    assert identity.seed == 7
    assert identity.image is not None
    assert identity.image.reference == IMAGE.reference
    assert identity.host is not None
    assert identity.host.cpus >= 1


def test_tools_of_an_earlier_version_are_recorded() -> None:
    plan = plan_run(RunOptions(scenario="smoke/partition", seed=7))
    own, borrowed = (
        identify(plan, "r", "2026-01-01T00:00:00Z", (image,), "20.10").image
        for image in (IMAGE, replace(IMAGE, tools="4.1.1"))
    )
    assert own is not None
    assert borrowed is not None
    assert (own.tools, borrowed.tools) == ("", "4.1.1")
    assert own.checksums == borrowed.checksums
    assert b"tools" not in msgspec.json.encode(own), (
        "a run with tools of its own version is recorded otherwise"
    )


def test_a_seeded_bug_is_recorded() -> None:
    plan = plan_run(
        RunOptions(scenario="smoke/partition", seed=7, seeded_bug="min-isr-ignored", kafka_version="4.3.1")
    )
    identity = identify(plan, "r", "2026-01-01T00:00:00Z", (IMAGE,), "20.10")
    assert identity.seeded_bug == "min-isr-ignored"
    assert identity.options["seeded_bug"] == "min-isr-ignored"
    assert identity_line(identity) == "smoke/partition · Kafka 4.3.1 · seed 7 · seeded bug min-isr-ignored"


def test_the_bytes_of_every_version_are_recorded() -> None:
    plan = plan_run(RunOptions(scenario="upgrades/rolling", seed=7))
    older = replace(
        IMAGE, reference="krucible/kafka:3.9.0-x", version="3.9.0", digest="sha256:1", checksums="1"
    )
    identity = identify(plan, "r", "2026-01-01T00:00:00Z", (IMAGE, older), "20.10")
    assert identity.image is not None
    assert identity.image.digest == "sha256:0"
    assert {version: image.digest for version, image in identity.other_images.items()} == {
        "3.9.0": "sha256:1"
    }
    assert identity.other_images["3.9.0"].checksums == {"jars": "1"}


def test_the_client_libraries_of_the_load_are_recorded() -> None:
    usual, with_java = (
        identify(
            plan_run(RunOptions(scenario=name, seed=7, kafka_version="4.2.0")), "r", "2026", (IMAGE,), "20.10"
        ).clients
        for name in ("exploratory/chaos", "exploratory/chaos-java")
    )
    assert list(usual) == ["kafka-python", "confluent-kafka"]
    assert all(version[0].isdigit() for version in usual.values())
    assert with_java == {**usual, "kafka-clients": "4.2.0"}


def test_another_version_of_a_client_is_recorded() -> None:
    plan = plan_run(RunOptions(scenario="exploratory/txn-java-old", seed=7, kafka_version="4.2.0"))
    clients = identify(plan, "r", "2026", (IMAGE,), "20.10").clients
    assert (clients["kafka-clients"], clients["kafka-clients-other"]) == ("4.2.0", "3.9.0")
