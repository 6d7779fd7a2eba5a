"""What presets plan: every run can be planned, shards are all of it, and times are as documented."""

from collections import Counter

import pytest

from harness.campaigns.qualifying_runs import on_record
from harness.errors import UsageError
from harness.plan.catalogue import known_outcomes, scenario_names
from harness.plan.kafka_choice import KafkaChoice
from harness.plan.planning import plan_run
from harness.plan.presets import PRESETS, Preset
from harness.plan.qualification import (
    SEEDS_A_NIGHT,
    Build,
    Job,
    QualificationRole,
    expected_ms,
    load_ms,
    matrix,
    needs_java,
    pair_of,
    shard,
)
from harness.vocabulary.topology import Mode
from results.run.coverage import LABELS

NEW = Build("4.3.1", "4.3.1", KafkaChoice(kafka_version="4.3.1"))
OLD = Build("4.1.1", "4.1.1", KafkaChoice(kafka_version="4.1.1"))
MIN_MS = 60_000


def jobs_of(preset: str, baseline: Build | None = OLD, seeds: range | None = None) -> tuple[Job, ...]:
    return matrix(PRESETS[preset], NEW, baseline, seeds).jobs


@pytest.mark.parametrize("preset", PRESETS)
def test_every_run_can_be_planned(preset: str) -> None:
    kinds = {(job.role, job.options.scenario, job.options.mode): job for job in jobs_of(preset)}
    for job in kinds.values():
        plan = plan_run(job.options)
        assert job.options.mode in {None, plan.scenario.topology.mode}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("count", [1, 2, 7])
def test_shards_are_all_runs_each_once_with_pairs_together(preset: str, count: int) -> None:
    jobs = jobs_of(preset)
    shards = [shard(jobs, number, count) for number in range(1, count + 1)]
    assert Counter(job.pair + str(job.options.kafka_version) for one in shards for job in one) == Counter(
        job.pair + str(job.options.kafka_version) for job in jobs
    )
    for one in shards:
        others = {job.pair for other in shards if other is not one for job in other}
        assert not others & {job.pair for job in one}
        assert [jobs.index(job) for job in one] == sorted(jobs.index(job) for job in one)


@pytest.mark.parametrize(("preset", "count"), [("nightly", 4), ("release", 8)])
def test_shards_take_about_as_long(preset: str, count: int) -> None:
    jobs = jobs_of(preset)
    took = [sum(map(expected_ms, shard(jobs, number, count))) for number in range(1, count + 1)]
    assert max(took) - min(took) <= max(map(expected_ms, jobs)) * 2


@pytest.mark.parametrize(
    ("preset", "baseline", "minutes_max"),
    [("smoke", None, 15), ("nightly", OLD, 342), ("release", OLD, 2_353)],
)
def test_presets_take_as_long_as_documented(preset: str, baseline: Build | None, minutes_max: int) -> None:
    jobs = jobs_of(preset, baseline)
    whole = sum(map(expected_ms, jobs))
    assert minutes_max * 0.8 <= whole / MIN_MS <= minutes_max
    assert 1 - sum(map(load_ms, jobs)) / whole <= 0.25


def test_required_states_are_counted_by_some_checker() -> None:
    assert {state for preset in PRESETS.values() for state in preset.required} <= LABELS.keys()


def test_candidate_and_baseline_take_turns_on_the_same_plans() -> None:
    jobs = [job for job in jobs_of("smoke") if job.role is not QualificationRole.CONTROL]
    assert [job.role for job in jobs] == [QualificationRole.CANDIDATE, QualificationRole.BASELINE] * (
        len(jobs) // 2
    )
    for mine, theirs in zip(jobs[::2], jobs[1::2], strict=True):
        assert mine.pair == theirs.pair
        assert (mine.options.kafka_version, theirs.options.kafka_version) == ("4.3.1", "4.1.1")
        assert plan_run(mine.options).schedule == plan_run(theirs.options).schedule


def test_both_modes_and_the_seeds_that_are_asked_for() -> None:
    chosen = jobs_of("smoke", None, range(5, 8))
    chaos = [job.options for job in chosen if job.options.scenario == "exploratory/chaos"]
    assert [(one.mode, one.seed) for one in chaos] == [
        (mode, seed) for mode in (Mode.COMBINED, Mode.ISOLATED) for seed in (5, 6, 7)
    ]
    controls = [job.options.seed for job in chosen if job.role is QualificationRole.CONTROL]
    assert controls == [1, 1]


@pytest.mark.parametrize("preset", PRESETS)
def test_nights_share_no_seed_but_those_of_the_controls(preset: str) -> None:
    nights = [matrix(PRESETS[preset], NEW, OLD, night=night).jobs for night in (0, 1)]
    first, second = (
        {job.options.seed for job in jobs if job.role is not QualificationRole.CONTROL} for jobs in nights
    )
    assert min(first) == 1
    assert max(first) <= SEEDS_A_NIGHT
    assert second == {seed + SEEDS_A_NIGHT for seed in first}
    controls = [[job for job in jobs if job.role is QualificationRole.CONTROL] for jobs in nights]
    assert controls[0] == controls[1]


def test_controls_are_red_and_green() -> None:
    sides = [job.control.side.expected_red for job in jobs_of("smoke") if job.control is not None]
    assert sorted(sides) == [False, True]


def test_a_bug_that_only_some_runs_show_is_no_control() -> None:
    races = {known.scenario for known in known_outcomes() if known.tries > 1}
    controls = {job.options.scenario for job in jobs_of("nightly") if job.control is not None}
    assert races
    assert not races & controls


def test_scenarios_that_a_build_does_not_support_are_withheld_with_a_reason() -> None:
    old = Build("3.7.1", "3.7.1", KafkaChoice(kafka_version="3.7.1"))
    planned = matrix(PRESETS["nightly"], NEW, old)
    assert any(text.startswith("disks/broker-replaced needs") for text in planned.withheld)
    run_on_both = {job.options.scenario for job in planned.jobs if job.role is QualificationRole.BASELINE}
    assert "disks/broker-replaced" not in run_on_both
    assert "exploratory/chaos" in run_on_both


@pytest.mark.parametrize("preset", PRESETS.values())
def test_scenarios_that_need_kafka_clients_are_withheld_where_there_is_no_java(preset: Preset) -> None:
    planned = matrix(preset, NEW, OLD, java_missing="java is not installed")
    everywhere = {job.options.scenario for job in matrix(preset, NEW, OLD).jobs}
    needy = {name for name in everywhere if needs_java(name)}
    assert {entry.scenario for entry in preset.java_entries} & everywhere <= needy
    assert not any(needs_java(entry.scenario) for entry in preset.entries)
    assert {job.options.scenario for job in planned.jobs} == everywhere - needy
    reason = "needs kafka-clients, which this host does not offer (java is not installed), so it is not run"
    assert {f"{name} {reason}" for name in needy} <= set(planned.withheld)


def test_a_version_is_not_upgraded_to_itself() -> None:
    first = Build("3.9.0", "3.9.0", KafkaChoice(kafka_version="3.9.0"))
    planned = matrix(PRESETS["nightly"], NEW, first)
    upgrade = [job.role for job in planned.jobs if job.options.scenario == "exploratory/upgrade"]
    assert upgrade == [QualificationRole.CANDIDATE]
    assert (
        "exploratory/upgrade upgrades from Kafka 3.9.0, so it is not run on the baseline" in planned.withheld
    )


def test_a_night_has_one_path_of_upgrades_and_a_release_all() -> None:
    def paths(preset: str, night: int = 0) -> list[str | None]:
        jobs = matrix(PRESETS[preset], NEW, None, night=night).jobs
        mine = [job.options for job in jobs if job.options.scenario == "exploratory/upgrade"]
        return [options.from_version for options in mine]

    assert [paths("nightly", night) for night in range(5)] == [["3.9.0"], ["4.1.1"], [], ["3.7.1"], ["3.9.0"]]
    assert paths("release") == ["3.9.0", "3.9.0", "4.1.1", "4.1.1", "3.7.1", "3.7.1"]
    left_out = "exploratory/upgrade upgrades from Kafka 4.3.1, so it is not run on the candidate"
    assert left_out in matrix(PRESETS["release"], NEW, None).withheld


def test_a_release_upgrades_under_every_load_from_the_versions_that_support_it() -> None:
    def paths(scenario: str) -> list[str | None]:
        mine = [job.options for job in jobs if job.options.scenario == scenario]
        assert all(plan_run(options) for options in mine)
        return [options.from_version for options in mine]

    jobs = matrix(PRESETS["release"], Build("4.4.0", "4.4.0", KafkaChoice(kafka_version="4.4.0")), None).jobs
    every = [version for version in ("3.9.0", "4.1.1", "4.3.1", "3.7.1") for _ in range(2)]
    assert paths("exploratory/upgrade-txn") == paths("exploratory/upgrade-groups") == every
    assert paths("exploratory/upgrade-groups-modern") == ["4.1.1", "4.1.1", "4.3.1", "4.3.1"]
    assert paths("exploratory/upgrade-share") == ["4.2.1", "4.2.1", "4.3.1", "4.3.1"]
    assert paths("upgrades/chain") == paths("upgrades/chain-combined") == [None]
    assert not any(
        job.options.scenario.startswith(("exploratory/upgrade-", "upgrades/chain"))
        for job in jobs_of("nightly")
    )


def test_a_release_runs_every_scenario_but_those_of_findings_and_known_bugs() -> None:
    """``smoke/partition`` is a short chaos, and known bugs are the controls."""
    entries = (*PRESETS["release"].entries, *PRESETS["release"].java_entries)
    others = ("findings/", "regressions/", "smoke/")
    every = {name for name in scenario_names() if not name.startswith(others)}
    assert {entry.scenario for entry in entries} == every


def test_a_build_is_not_compared_to_itself() -> None:
    with pytest.raises(UsageError, match="are the same build"):
        matrix(PRESETS["smoke"], NEW, NEW)


def test_a_pair_does_not_name_the_build() -> None:
    image = KafkaChoice(kafka_version="4.3.1", kafka_image="registry.local/kafka:4.3.1")
    jobs = matrix(PRESETS["smoke"], Build("i", "4.3.1", image), OLD).jobs
    (mine, theirs) = (job for job in jobs if job.options.scenario == "exploratory/txn")
    assert pair_of(mine.options) == pair_of(theirs.options)
    assert "kafka" not in mine.pair


def test_consequences_of_a_bug_put_nothing_on_record() -> None:
    build = Build("4.4.0", "4.4.0", KafkaChoice(kafka_version="4.4.0"))
    mine = {one.id for one in on_record(build) if one.scenario == "findings/skipped-marker"}
    assert "marker-shared" in mine
    assert "lost-write" not in mine
