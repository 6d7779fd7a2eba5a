"""What is drawn and counted is what the history has, whatever shape its values have."""

from pathlib import Path
from typing import Any

import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.verdict.verdict import Validity, Verdict, result_of
from results.report.reading.spans import SILENCE_NS, LeaderSpan, changes, leader_spans, longest, settled
from results.run.measures import load_measures, measure, save_measures
from results.run.observation import Claim, ClusterRecovery, observe
from results.store.runs import RunUnreadableError
from tests.results.story import MS, Run, S, Story


def test_records_are_counted_one_by_one_and_unanswered_ones_are_unknown() -> None:
    story = Story()
    story.add(1, 0, "invoke", "send", "t", [[0, 1], [1, 2]])
    story.add(2, 0, "info", "send", "t", [[0, 1, 17, "ok"], [1, 2, None, "info"]])
    story.add(3, 1, "invoke", "send", "t", [[0, 3]])
    story.add(4, 1, "fail", "send", "t", [[0, 3]], error="no")
    story.add(5, 2, "invoke", "send", "t", [[0, 4], [0, 5], [0, 6]])
    seen = observe(story.history())
    assert seen.records == {"ok": 1, "info": 4, "fail": 1}
    assert seen.acks.partitions == (("t", 0),)
    assert seen.sends.took_ns.tolist() == [1, 1]


def test_polls_that_return_records_are_measured_also_those_of_share_groups() -> None:
    story = Story()
    some: dict[str, list[Any]] = {"records": [[0, [7], [1]]]}
    none: dict[str, list[Any]] = {"records": []}
    for begin, process, f, kind, value, took in (
        (1, 5, "poll", "ok", some, 4),
        (2, 6, "share-poll", "ok", some, 9),
        (20, 5, "poll", "ok", none, 500),
        (30, 6, "poll", "info", some, 5),
    ):
        story.add(begin, process, "invoke", f, "t", {"client": "c"})
        story.add(begin + took, process, kind, f, "t", value)
    story.add(700, 7, "ok", "poll", "t", some)
    seen = observe(story.history())
    assert (seen.deliveries.began_ns.tolist(), seen.deliveries.took_ns.tolist()) == ([1, 2], [4, 9])
    assert seen.polls.records.tolist() == [1, 1]


def test_a_run_is_measured(green_run: Run) -> None:
    seen = observe(green_run.history)
    measures = measure(seen, green_run.verdict)
    assert measures.sent_ok == seen.acks.records.sum() > 10_000
    assert [(f.id, f.kind, f.proven, f.held_ms) for f in measures.faults] == [
        ("f1", "partition", True, 5_700),
        ("f2", "kill", True, 5_700),
        ("f3", "pause", True, 5_700),
    ]
    assert [f.unavailable_ms_max for f in measures.faults] == [1_612, 2_271, None]
    assert (measures.unavailable_ms_max, measures.recovered, measures.recovery_ms) == (2_271, True, 2_400)
    assert measures.read_finally == 5_400
    assert (measures.load_ms, measures.duration_ms) == (45_000, 50_000)


@pytest.mark.parametrize(
    ("phases", "load_ms"),
    [
        ({"start": 0, "load": 2, "heal": 6, "recover": 7, "final-read": 9, "done": 11}, 7_000),
        ({"load": 2, "heal": 6, "evidence": 8}, 6_000),
        ({"load": 2}, 18_000),
        ({"start": 1}, None),
        ({}, None),
    ],
    ids=["whole", "cancelled", "killed", "never-began", "no-phases"],
)
def test_the_load_is_on_from_its_phase_to_the_first_without_it(
    phases: dict[str, int], load_ms: int | None
) -> None:
    story = Story()
    for name, second in phases.items():
        story.add(second * S, "runner", "ok", "phase", name)
    story.add(20 * S, "runner", "ok", "poll", "t")
    assert measure(observe(story.history()), Verdict(Validity.VALID, ())).load_ms == load_ms


def test_measures_survive_their_file(green_run: Run, tmp_path: Path) -> None:
    measures = measure(observe(green_run.history), green_run.verdict)
    save_measures(tmp_path, measures)
    assert load_measures(tmp_path) == measures
    (tmp_path / "measures.json").unlink()
    with pytest.raises(RunUnreadableError, match=r"measures\.json is missing"):
        load_measures(tmp_path)


def test_figures_of_another_krucible_are_passed_over(green_run: Run) -> None:
    other = result_of("availability", [], figures={"faults": "none"})
    measures = measure(observe(green_run.history), Verdict(Validity.VALID, (other,)))
    assert [fault.unavailable_ms_max for fault in measures.faults] == [None] * 3


def test_a_fault_that_was_not_attempted_is_seen_and_not_measured() -> None:
    story = Story()
    plan = {"kind": "kill", "spec": {"kind": "kill"}}
    story.add(1, "nemesis", "invoke", "inject", "f1", plan)
    story.add(2, "nemesis", "fail", "inject", "f1", plan, error="every node is held by a fault already")
    seen = observe(story.history())
    assert [(fault.attempted, fault.held_ms) for fault in seen.faults] == [(False, None)]
    assert measure(seen, Verdict(Validity.UNKNOWN, ())).faults == ()


def test_a_second_heal_of_a_fault_does_not_prolong_it_and_is_shown() -> None:
    story = Story()
    value = {"kind": "kill", "spec": {}, "targets": ["n1"], "cut": []}
    story.add(1, "nemesis", "invoke", "inject", "f1", value)
    story.add(2, "nemesis", "ok", "inject", "f1", value)
    for began, kind, error in ((5, "ok", None), (9, "fail", "it is not in force")):
        story.add(began, "nemesis", "invoke", "heal", "f1", value)
        story.add(began + 1, "nemesis", kind, "heal", "f1", value, error=error)
    (fault,) = observe(story.history()).faults
    assert (fault.effective_ns, fault.heal_invoked_ns, fault.healed_ns) == (2, 5, 6)
    assert fault.error == "it is not in force"


def test_a_heal_that_was_not_confirmed_has_the_reason() -> None:
    story = Story()
    plan = {"kind": "kill", "spec": {}}
    story.add(1, "nemesis", "invoke", "inject", "f1", plan)
    story.add(2, "nemesis", "ok", "inject", "f1", plan | {"targets": ["n1"], "cut": []})
    story.add(3, "nemesis", "invoke", "heal", "f1", plan)
    story.add(4, "nemesis", "info", "heal", "f1", plan, error="did not come up")
    (fault,) = observe(story.history()).faults
    assert (fault.error, fault.healed_ns, fault.targets) == ("did not come up", None, ("n1",))


def test_a_recovery_that_failed_is_seen() -> None:
    story = Story()
    story.ending(recovered=False)
    assert observe(story.history()).recovery == ClusterRecovery(
        recovered=False, took_ms=2_400, bound_ms=60_000
    )


NONSENSE: tuple[Any, ...] = (None, 7, "x", [], {}, [[]], [[1]], {"records": [[0]]}, {"topics": {"t": [[1]]}})


@pytest.mark.parametrize(
    "f", ["send", "poll", "final-read", "inject", "heal", "setup", "phase", "recover", "observe"]
)
@pytest.mark.parametrize("kind", list(OperationType))
def test_values_of_any_shape_are_left_out_and_never_fail(f: str, kind: OperationType) -> None:
    keys: list[Any] = ["quorum", "partitions", "node", "node-log", "elsewhere", None, ["unhashable"], {}]
    operations = tuple(
        Operation(i, i, 1, kind, f, key=key, value=value)
        for i, (key, value) in enumerate((key, value) for key in keys for value in NONSENSE)
    )
    seen = observe(History("r", "", operations))
    assert seen.operations == len(operations)


def test_times_beyond_belief_are_clamped() -> None:
    operations = (
        Operation(0, -5, 1, OperationType.OK, "phase", key="load"),
        Operation(1, 10**40, 1, OperationType.OK, "phase", key="done"),
    )
    seen = observe(History("r", "", operations))
    assert (seen.begin_ns, seen.end_ns) == (0, 2**62)


def test_a_reign_ends_with_another_answer_or_a_silence() -> None:
    answers = [Claim(1, 5), Claim(2, 5), Claim(3, None), Claim(4, 5), Claim(5, 6)]
    answers += [Claim(5 + SILENCE_NS, 6), Claim(6 + 2 * SILENCE_NS, 6)]
    spans = [(r.begin_ns, r.end_ns, r.epoch) for r in leader_spans({"n1": answers})]
    last = 6 + 2 * SILENCE_NS
    assert spans == [(1, 2, 5), (4, 4, 5), (5, 5 + SILENCE_NS, 6), (last, last, 6)]


def test_a_reign_is_superseded_when_another_leads_later_before_it_ends() -> None:
    found = leader_spans({"n1": [Claim(0, 1), Claim(2 * S, 1)], "n2": [Claim(1 * S, 2), Claim(3 * S, 2)]})
    assert found == [LeaderSpan("n1", 0, 2 * S, 1, 1 * S), LeaderSpan("n2", 1 * S, 3 * S, 2, None)]


def test_news_of_an_earlier_epoch_and_repetitions_of_a_cut_off_broker_are_passed_over() -> None:
    story = Story()

    def observe_partition(time_ms: int, node: str, leader: int, epoch: int, isr: list[int]) -> None:
        value = {"began_ns": 0, "topics": {"t": [[0, leader, epoch, [1, 2, 3], isr, None]]}}
        story.add(time_ms * MS, "o", "ok", "observe", "partitions", value, node=node)

    observe_partition(1, "n1", 1, 0, [1, 2, 3])
    observe_partition(2, "n2", 1, 0, [1, 2, 3])
    observe_partition(3, "n2", 2, 1, [2, 3])
    observe_partition(4, "n1", 1, 0, [1, 2, 3])
    observe_partition(5, "n1", 1, 0, [1])
    observe_partition(6, "n2", 2, 1, [2])
    observe_partition(7, "n3", 2, 1, [2])
    states = settled(observe(story.history()).views)
    assert [state[:2] for _, state in states["t", 0]] == [(1, 3), (1, 3), (2, 2), (2, 1), (2, 1)]


def test_of_too_many_spans_the_longest_are_kept() -> None:
    moments = [(0, "a"), (10, "b"), (11, "a"), (30, "a"), (31, "c"), (32, "d")]
    spans = changes(moments, 60)
    assert [span[:2] for span in spans] == [(0, 10), (10, 11), (11, 31), (31, 32), (32, 60)]
    assert longest(spans, 9) == (spans, 0)
    assert longest(spans, 2) == ([spans[2], spans[4]], 3)
