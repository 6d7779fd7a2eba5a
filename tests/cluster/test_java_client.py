"""Kafka's own client on a real cluster: it has its share of the load, of transactions too."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from checkers.history.identity import IDENTITY_FILE, decode_identity
from checkers.history.reading import read_history
from checkers.verdict.verdict import Validity
from harness.cli import invoke
from harness.clients.java.process import java_missing
from harness.plan import planning
from harness.plan.catalogue import load_scenario
from harness.vocabulary import FixedSchedule, Kill, Scenario, Step, Target, TxnWorkload
from harness.workloads.context import workers_of
from results.store.runs import find_run, load_verdict

pytestmark = pytest.mark.cluster
LIBRARIES = {"kafka-python", "confluent-kafka", "kafka-clients"}


def of_one_fault(name: str) -> Scenario:
    """A scenario whose schedule is one kill."""
    schedule = FixedSchedule((Step(3_000, 6_000, Kill(Target.PARTITION_LEADER)),), 14_000)
    return msgspec.structs.replace(load_scenario(name), schedule=schedule)


@pytest.mark.skipif(java_missing() is not None, reason=f"kafka-clients is not offered: {java_missing()}")
def test_kafkas_own_client_has_its_share_of_the_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "load_scenario", of_one_fault)
    name = "exploratory/txn-java"
    code = invoke(["run", name, "--seed", "4", "--kafka-version", "4.3.1", "--runs", str(tmp_path)])

    folder = find_run(tmp_path, name)
    assert code == 0, load_verdict(folder).reasons
    identity = decode_identity((folder / IDENTITY_FILE).read_bytes())
    assert identity.clients.keys() == LIBRARIES
    assert identity.clients["kafka-clients"] == "4.3.1"
    done = [operation for operation in read_history(folder).operations if operation.type == "ok"]
    for f in ("poll", "final-read", "txn", "init-transactions"):
        by_client = Counter(operation.value["client"] for operation in done if operation.f == f)
        assert by_client.keys() - {"raw"} == LIBRARIES, f
    workload = load_scenario(name).workload
    assert isinstance(workload, TxnWorkload)
    # A worker whose operation ended with an unknown outcome goes on under another number of process.
    workers = [
        operation.process % workers_of(workload)
        for operation in done
        if operation.f == "send" and isinstance(operation.process, int)
    ]
    senders = Counter(
        workload.libraries[worker % len(workload.libraries)]
        for worker in workers
        if worker < workload.producers
    )
    assert min(senders[library] for library in LIBRARIES) > 5, senders


@pytest.mark.skipif(java_missing() is not None, reason=f"kafka-clients is not offered: {java_missing()}")
def test_members_of_a_share_group_receive_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "load_scenario", of_one_fault)
    name = "exploratory/share"
    invoke(["run", name, "--seed", "4", "--kafka-version", "4.3.1", "--runs", str(tmp_path)])

    folder = find_run(tmp_path, name)
    # Defects of Kafka that a slow host shows are as expected (docs/findings.md), and nothing else.
    verdict = load_verdict(folder)
    assert verdict.as_expected, verdict.reasons
    results = {one.checker: one for one in verdict.results}
    result = results.pop("share-groups")
    assert Validity.INVALID not in {one.validity for one in results.values()}
    assert result.figures["released"] > 0
    assert result.figures["delivery_count_max"] > 1
    assert result.figures["acknowledged"] > result.figures["records"]
