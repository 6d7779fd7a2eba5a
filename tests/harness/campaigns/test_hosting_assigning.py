"""Which host gets which run, what is printed, and what a campaign records; runs end as a test says."""

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from checkers.verdict.verdict import Validity
from harness import cli
from harness.campaigns.campaign import Campaign
from harness.campaigns.hosting import assigning
from harness.campaigns.hosting.assigning import WorkingHosts
from harness.campaigns.hosting.campaigns import CampaignWork
from harness.campaigns.hosting.host_checks import HostChecks
from harness.campaigns.hosting.orders import Begun, Order, Report, ReportFolder, encode
from harness.campaigns.hosting.table import ListedHost, look_at
from harness.campaigns.hosting.tasks import CARRY_OUT
from harness.errors import KrucibleError
from harness.plan.planning import RunPlan
from results.pipeline.errors import PipelineError
from results.pipeline.spark.hosts import HostAnswer
from tests.harness.fakes.hosts import MASTER, End, FakeHosts
from tests.harness.recorded_run import a_verdict, planned, store_run

SCENARIO = "smoke/partition"


def ended(order: Order, verdict: Validity = Validity.VALID) -> Report:
    """A run that happened, its folder in the store."""
    name = f"{order.options.scenario}/20261122T01000{order.number}Z-{order.options.seed}"
    plan = planned(order.options.scenario, order.options.seed, kafka_version=order.options.kafka_version)
    store_run(order.site.store / name, plan, a_verdict(verdict), [])
    return Report("h", name, f"{verdict.upper()} after 20 s\nand more")


def host(name: str) -> ListedHost:
    return ListedHost(name, HostChecks(name, f"machine of {name}", Path("/scratch"), ()))


def plans(*seeds: int) -> dict[int, RunPlan]:
    return {seed: planned(SCENARIO, seed, kafka_version="4.3.1") for seed in seeds}


class Campaigning:
    """A campaign in a store, and hosts that end its runs as a test says."""

    def __init__(self, store: Path, ends: Mapping[str, End], seeds: tuple[int, ...] = (1, 2, 3)) -> None:
        self.store = store
        self.campaign = Campaign(store, SCENARIO, plans(*seeds))
        self.hosts = FakeHosts(ends)
        self.desk = ReportFolder.opened(store.resolve())
        self.cancelled = threading.Event()
        self._plans = plans(*seeds)

    def run(self, clusters: int = 1) -> None:
        hosts = WorkingHosts(self.hosts, [host(name) for name in self.hosts.here], clusters, self.desk)  # type: ignore[arg-type]
        hosts.run_all(CampaignWork(self.campaign, self._plans, self.store), self.cancelled)


def test_hosts_share_the_seeds_and_the_summary_is_that_of_a_campaign(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    together = threading.Barrier(2)

    def both(order: Order) -> Report:
        if order.options.seed in (1, 2):
            together.wait(60)
        return ended(order)

    one = Campaigning(tmp_path, {"a": both, "b": both})
    one.run()
    assert one.campaign.finish() == 0
    assert {name for name, function in one.hosts.asked if function == CARRY_OUT} == {"a", "b"}
    assert sorted(order.options.seed for order in one.hosts.orders) == [1, 2, 3]
    assert {order.machines for order in one.hosts.orders} == {("machine of a", "machine of b")}
    assert one.campaign.missing() == []
    output = capsys.readouterr().out
    assert "--- seed 1 (1 of 3), to a: krucible run smoke/partition --seed 1 --kafka-version 4.3.1" in output
    assert "=== seed 3 (3 of 3), from h\nVALID after 20 s\nand more" in output
    assert "VALID: 3 seeds, 3 valid" in output
    assert "a: cleared" in output


def test_a_host_bears_as_many_clusters_as_are_configured(tmp_path: Path) -> None:
    together = threading.Barrier(2)

    def both(order: Order) -> Report:
        together.wait(60)
        return ended(order)

    one = Campaigning(tmp_path, {"a": both}, (1, 2))
    one.run(clusters=2)
    assert one.campaign.missing() == []
    assert {order.site.slots for order in one.hosts.orders} == {2}


def test_a_run_that_failed_is_recorded_as_one_that_failed_here(tmp_path: Path) -> None:
    def fails(order: Order) -> Report:
        return Report("h", failure="no engine") if order.options.seed == 2 else ended(order, Validity.INVALID)

    one = Campaigning(tmp_path, {"a": fails})
    one.run()
    assert one.campaign.failed == {2: "no engine"}
    assert one.campaign.finish() == 1
    assert Campaign(tmp_path, SCENARIO, plans(1, 2, 3)).missing() == [2]


def test_a_host_that_loses_its_executors_gets_no_more_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def lost(order: Order) -> Report:
        raise PipelineError("Spark could not have it done", got=f"lost four times: {order.number}")

    one = Campaigning(tmp_path, {"a": lost, "b": ended}, (1, 2, 3, 4))
    one.run()
    assert [function for name, function in one.hosts.asked if name == "a"].count(CARRY_OUT) == 1
    assert len(one.campaign.failed) == 1
    assert "a gets no more runs" in capsys.readouterr().err
    assert one.campaign.finish() == 3


def test_a_run_that_was_begun_twice_is_reported_and_counts_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def again(order: Order) -> Report:
        desk = ReportFolder(order.place)
        desk.begin(order.number, Begun("dead", "/scratch/slot-1/x/y", "2026-11-22T01:00:00+00:00"))
        desk.begin(order.number, Begun("alive", "/scratch/slot-1/x/z", "2026-11-22T01:05:00+00:00"))
        return ended(order)

    one = Campaigning(tmp_path, {"a": again}, (1,))
    one.run()
    output = capsys.readouterr().out
    assert "lost       it had begun on dead at 2026-11-22T01:00:00+00:00, in /scratch/slot-1/x/y" in output
    assert output.count("it had begun") == 1
    assert set(one.campaign.done) == {1}


def test_once_cancelled_hosts_are_notified_and_nothing_that_was_cut_short_counts(tmp_path: Path) -> None:
    one: Campaigning

    def interrupted(order: Order) -> Report:
        one.cancelled.set()
        while not ReportFolder(order.place).stopped:
            threading.Event().wait(0.01)
        return Report("h", ended(order, Validity.UNKNOWN).folder, "UNKNOWN", interrupted=True)

    one = Campaigning(tmp_path, {"a": interrupted})
    one.run()
    assert [order.options.seed for order in one.hosts.orders] == [1]
    assert one.campaign.missing() == [1, 2, 3]
    assert one.campaign.finish() == 2


def test_an_interruption_reaches_runs_while_spark_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = threading.Event()

    def interrupted(order: Order) -> Report:
        while not ReportFolder(order.place).stopped:
            threading.Event().wait(0.01)
        reached.set()
        return Report("h", ended(order, Validity.UNKNOWN).folder, "UNKNOWN", interrupted=True)

    one = Campaigning(tmp_path, {"a": interrupted})
    names = one.hosts.names

    def slow_names() -> tuple[str, ...]:
        one.cancelled.set()
        assert reached.wait(60), "the run was not ordered to end before Spark answered"
        return names()

    monkeypatch.setattr(one.hosts, "names", slow_names)
    one.run()
    assert one.campaign.missing() == [1, 2, 3]
    assert one.campaign.finish() == 2


def test_where_the_order_to_end_cannot_be_written_the_error_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    def hangs(_order: Order) -> Report:
        over.wait(60)
        return Report("h")

    def full(_desk: ReportFolder) -> None:
        raise KrucibleError("the disk is full", got="0 bytes")

    monkeypatch.setattr(ReportFolder, "stop", full)
    one = Campaigning(tmp_path, {"a": hangs}, (1,))
    one.cancelled.set()
    with pytest.raises(KrucibleError, match="the disk is full"):
        one.run()
    over.set()


def test_where_nobody_is_left_the_command_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    over = threading.Event()

    def hangs(_order: Order) -> Report:
        over.wait(60)
        return Report("h")

    monkeypatch.setattr(assigning, "GONE_S", 0.1)
    one = Campaigning(tmp_path, {"a": hangs}, (1,))
    hosts = WorkingHosts(one.hosts, [host("a")], 1, one.desk)  # type: ignore[arg-type]
    one.hosts.here = ()
    hosts.run_all(CampaignWork(one.campaign, plans(1), tmp_path), one.cancelled)
    over.set()
    assert "no host is left; 1 runs are lost" in capsys.readouterr().err
    assert one.campaign.missing() == [1]


def test_a_run_of_another_kafka_is_no_run_of_the_campaign(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def another(order: Order) -> Report:
        plan = planned(SCENARIO, order.options.seed, kafka_version="4.1.1")
        store_run(order.site.store / SCENARIO / "20261122T010000Z-1", plan, a_verdict(Validity.VALID), [])
        return Report("h", f"{SCENARIO}/20261122T010000Z-1", "VALID")

    one = Campaigning(tmp_path, {"a": another}, (1,))
    store_plans = one.campaign.missing()
    one.run()
    assert store_plans == one.campaign.missing() == [1]
    assert "this run used another build of Kafka" in capsys.readouterr().err


def test_a_host_without_krucible_or_with_a_store_of_its_own_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = ReportFolder.opened(tmp_path)
    hosts = FakeHosts({"a": ended})
    monkeypatch.setattr(
        hosts, "ask", lambda *_: HostAnswer(problem="No module named 'harness' (for /bin/python)")
    )
    (bare,) = look_at(hosts, desk, None, ())  # type: ignore[arg-type]
    assert [(check.name, check.found[:15]) for check in bare.seen.lacks] == [("krucible", "No module named")]

    unseen = HostChecks("a", "m", tmp_path, (), mark="written-elsewhere")
    monkeypatch.setattr(hosts, "ask", lambda *_: HostAnswer(encode(unseen)))
    (own,) = look_at(hosts, desk, None, ())  # type: ignore[arg-type]
    assert [check.name for check in own.seen.lacks] == ["store"]


def test_work_is_handed_out_in_order(tmp_path: Path) -> None:
    work = CampaignWork(Campaign(tmp_path, SCENARIO, plans(4, 5)), plans(4, 5), tmp_path)
    assert [asked.title for asked in iter(work.next, None)] == ["seed 4 (1 of 2)", "seed 5 (2 of 2)"]


def test_the_command_is_the_same_with_a_master(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    FakeHosts({"a": ended, "b": ended}).stand_in(monkeypatch)
    words = ["run", SCENARIO, "--seeds", "1..3", "--kafka-version", "4.3.1", "--runs", str(tmp_path)]
    assert cli.invoke([*words, "--master", MASTER]) == 0
    output = capsys.readouterr().out
    assert "hosts      2 of 2 hosts can do runs" in output
    assert "VALID: 3 seeds, 3 valid" in output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--seeds", "1..2", "--master", "local[2]"], "--master with spark://HOST:PORT"),
        (["--seed", "1", "--master", MASTER], "--master is for several runs"),
        (["--seeds", "1..2", "--clusters-per-host", "2"], "apply to hosts of a Spark master"),
    ],
)
def test_what_does_not_fit_a_master_is_refused(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["run", SCENARIO, *words]) == 64
    assert expected in capsys.readouterr().err


def test_where_every_host_lacks_something_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = FakeHosts({"a": ended})
    hosts.stand_in(monkeypatch)
    monkeypatch.setattr(hosts, "ask", lambda *_: HostAnswer(problem="No module named 'harness'"))
    words = ["run", SCENARIO, "--seeds", "1..3", "--kafka-version", "4.3.1", "--runs", str(tmp_path)]
    assert cli.invoke([*words, "--master", MASTER]) == 3
    output = capsys.readouterr()
    assert "a  lacks  krucible: No module named 'harness'; fix: install this krucible there" in output.out
    assert "no host can do runs" in output.err
    assert hosts.orders == []
