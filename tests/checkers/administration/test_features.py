"""Changes of feature levels: what Kafka must refuse, and what nodes may report."""

from typing import Any

import msgspec
import pytest

from checkers.administration.features import check_features
from checkers.evidence.features import levels_in_run
from checkers.history.operations import OperationType
from checkers.licences.facts import Facts
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import AdminStory

TV, MV, ELR, KRAFT = (
    "transaction.version",
    "metadata.version",
    "eligible.leader.replicas.version",
    "kraft.version",
)
LEVELS = {TV: 2, MV: 33, ELR: 1, KRAFT: 1}
SUPPORTED = {TV: [0, 2], MV: [7, 33], ELR: [0, 1], KRAFT: [0, 1]}
SAFE, UNSAFE, UPGRADE = "safe-downgrade", "unsafe-downgrade", "upgrade"
S = 1_000
LATE = 30 * S


class FeatureStory(AdminStory):
    """A cluster with the levels of 4.4.0."""

    def __init__(self, **levels: int) -> None:
        super().__init__(features=LEVELS | {name.replace("_", "."): level for name, level in levels.items()})

    def ask(self, at_ms: float, end_ms: float | None, feature: str, level: int, **fields: Any) -> None:
        """A request; ``how`` is its outcome, ``type`` its upgrade type, ``only`` whether to check it only."""
        asked: dict[str, Any] = {"level": level, "to": "n1"}
        if (kind := fields.pop("type", None)) is not None:
            asked["upgrade_type"] = kind
        if fields.pop("only", False):
            asked["validate_only"] = True
        code = fields.pop("code", 0)
        answer = asked | {"code": code, "message": None, "took_ms": 1}
        self.both(at_ms, end_ms, "update-feature", asked, answer=answer, key=feature, **fields)

    def report(self, at_ms: float, node: str, epoch: int, **fields: Any) -> None:
        """A report; its levels are those of the beginning, but for those given as ``levels``."""
        levels = {name: level for name, level in (LEVELS | fields.get("levels", {})).items() if level}
        value = {
            "began_ns": round((at_ms - 1) * 1e6),
            "epoch": epoch,
            "levels": levels,
            "supported": SUPPORTED | fields.get("supported", {}),
        }
        self.observe(at_ms, "features", value, node=node)

    def report_until(self, end_ms: float, node: str, **fields: Any) -> None:
        """Reports once a second, from second 0 to a time."""
        for at_ms in range(500, round(end_ms), S):
            self.report(at_ms, node, 55, **fields)
        self.report(end_ms, node, 56, **fields)

    def judged(self) -> CheckerResult:
        return check_features(self.history())

    def found(self) -> list[str]:
        return [anomaly.id for anomaly in self.judged().anomalies]


def test_a_history_without_requests_and_reports_is_not_exercised() -> None:
    assert FeatureStory().judged().validity is Validity.NOT_EXERCISED


def test_without_a_setup_nothing_is_decided() -> None:
    story = FeatureStory()
    story.report(10, "n1", 50, levels={TV: 1})
    history = story.history()
    without = msgspec.structs.replace(history, operations=history.operations[1:])
    result = check_features(without)
    assert (result.validity, result.anomalies) == (Validity.UNKNOWN, ())
    nothing = msgspec.structs.replace(history, operations=())
    assert check_features(nothing).validity is Validity.NOT_EXERCISED


def asked(*nodes: str) -> FeatureStory:
    """A run that asks nodes for their levels, and whose first node lowers one."""
    story = FeatureStory()
    for node in nodes:
        key = f"observer-features-{node}"
        story.add(1, "runner", OperationType.OK, "journal", key=key, value={"role": "observer"})
    story.report(10, "n1", 50)
    story.ask(20, 30, TV, 1, type=SAFE, only=True)
    return story


def test_a_node_that_never_reports_its_levels_leaves_a_change_undecided() -> None:
    story = asked("n1", "n2")
    assert story.judged().validity is Validity.VALID
    story.ask(40, 50, TV, 1, type=SAFE)
    result = story.judged()
    assert (result.validity, result.anomalies) == (Validity.UNKNOWN, ())
    assert result.unknown_because == "n2 did not report feature levels after a change"
    story.report(60, "n2", 55, levels={TV: 1})
    assert story.judged().validity is Validity.VALID


@pytest.mark.parametrize("how", ["silent", "heard", "ended", "soon over"])
def test_a_node_that_reports_no_levels_after_a_change_leaves_it_undecided(how: str) -> None:
    story = asked("n1", "n2")
    story.report(12, "n2", 50)
    story.ask(40, 50, TV, 1, type=SAFE)
    story.report(60 if how == "soon over" else 20 * S, "n1", 55, levels={TV: 1})
    if how == "heard":
        story.report(70, "n2", 55, levels={TV: 1})
    elif how == "ended":
        story.observe(45, "node", {"status": "running"}, node="n2")
        story.observe(55, "node", {"status": "exited", "exit_code": 1}, node="n2")
    expected = Validity.UNKNOWN if how == "silent" else Validity.VALID
    assert story.judged().validity is expected


def test_a_run_that_asked_no_node_for_its_levels_is_judged_by_its_requests() -> None:
    story = FeatureStory()
    story.ask(20, 40, TV, 1, type=SAFE)
    assert story.judged().validity is Validity.VALID


def test_an_accepted_downgrade_that_all_nodes_report_is_valid() -> None:
    story = FeatureStory()
    for node in ("n1", "n2", "n3"):
        story.report(10, node, 50)
        story.report(1 * S, node, 60, levels={TV: 1})
        story.report(LATE, node, 90, levels={TV: 1})
    story.ask(20, 40, TV, 1, type=SAFE)
    result = story.judged()
    assert result.validity is Validity.VALID
    assert result.figures == {"requests": {"made": 1}, "reports": 9}


REFUSED = [
    pytest.param((TV, 1), {}, "an upgrade must not lower", id="lowered by an upgrade"),
    pytest.param((TV, 3), {"type": SAFE}, "a downgrade must not raise", id="raised by a downgrade"),
    pytest.param((TV, -1), {"type": SAFE}, "a level is not negative", id="below zero"),
    pytest.param((KRAFT, 0), {"type": UNSAFE}, "kraft.version is never lowered", id="kraft.version lowered"),
    pytest.param((MV, 29), {"type": SAFE}, "the metadata changed between 29 and 33", id="metadata lost"),
    pytest.param((MV, 22), {"type": UNSAFE}, "replicas.version 1 needs metadata.version 23", id="needed"),
    pytest.param((TV, 3), {}, "n1 supports at most 2", id="unsupported"),
]


@pytest.mark.parametrize(("asked", "fields", "why"), REFUSED)
@pytest.mark.parametrize("only", [False, True])
def test_a_change_that_must_be_refused_is_reported_if_it_is_accepted(
    asked: tuple[str, int], fields: dict[str, Any], why: str, *, only: bool
) -> None:
    story = FeatureStory()
    story.report(10, "n1", 50)
    story.ask(20, 40, *asked, **fields, only=only)
    story.report(50, "n1", 50)
    result = story.judged()
    assert [one.id for one in result.anomalies] == ["feature-change-not-refused"]
    assert why in result.anomalies[0].summary
    assert ("found valid" in result.anomalies[0].summary) is only


@pytest.mark.parametrize(("asked", "fields", "why"), REFUSED)
def test_a_refused_change_that_leaves_the_levels_is_valid(
    asked: tuple[str, int], fields: dict[str, Any], why: str
) -> None:
    story = FeatureStory()
    story.ask(20, 40, *asked, **fields, how="fail", code=95)
    for at_ms, epoch in ((10, 50), (60, 60), (LATE, 70)):
        story.report(at_ms, "n1", epoch)
    assert story.judged().validity is Validity.VALID, why


@pytest.mark.parametrize(
    ("asked", "fields"),
    [
        pytest.param((MV, 29), {"type": UNSAFE}, id="an unsafe downgrade may lose metadata"),
        pytest.param((TV, 2), {"type": SAFE}, id="a level that is kept"),
        pytest.param((MV, 33), {}, id="a level that is requested again"),
        pytest.param((ELR, 1), {}, id="a feature with what it needs"),
        pytest.param((MV, 40), {}, id="a level whose support nobody reported"),
    ],
)
def test_a_change_that_may_be_accepted_is_valid(asked: tuple[str, int], fields: dict[str, Any]) -> None:
    story = FeatureStory()
    story.ask(20, 40, *asked, **fields)
    assert story.judged().validity is Validity.VALID


def test_metadata_version_may_be_lowered_to_a_level_with_the_same_metadata() -> None:
    story = FeatureStory(metadata_version=29)
    story.ask(20, 40, MV, 24, type=SAFE)
    story.ask(50, 60, MV, 29)
    assert story.judged().validity is Validity.VALID


def test_a_feature_is_not_turned_on_without_what_it_needs() -> None:
    story = AdminStory(features={MV: 22})
    story.both(20, 40, "update-feature", {"level": 1}, answer={"level": 1, "code": 0}, key=ELR)
    assert [one.id for one in check_features(story.history()).anomalies] == ["feature-change-not-refused"]


def test_a_request_is_judged_by_all_levels_that_the_feature_may_have_had() -> None:
    story = FeatureStory()
    story.ask(10, 15, TV, 1, type=SAFE, how="info", code=7)
    story.ask(20, 40, TV, 2, type=SAFE)  # permitted if the level is still 2
    story.ask(50, 60, TV, 1)  # permitted if the first request takes effect only now
    assert story.found() == []


def test_an_older_request_that_is_over_does_not_permit_a_later_one() -> None:
    story = FeatureStory()
    story.ask(10, 15, TV, 1, type=SAFE)
    story.ask(20, 25, TV, 2)
    story.ask(30, 35, TV, 1)
    assert story.found() == ["feature-change-not-refused"]


def test_a_broker_of_another_version_meanwhile_is_no_proof() -> None:
    story = FeatureStory()
    story.report(10, "n1", 50)
    story.ask(20, 40, TV, 3)
    story.report(50, "n1", 60, levels={TV: 3}, supported={TV: [0, 3]})
    assert story.found() == []


@pytest.mark.parametrize("fields", [{"how": "fail", "code": 95}, {"only": True}])
def test_a_level_of_a_request_that_changes_nothing_is_reported(fields: dict[str, Any]) -> None:
    story = FeatureStory()
    story.report(10, "n1", 50)
    story.ask(20, 40, TV, 1, type=SAFE, **fields)
    story.report(60, "n2", 55, levels={TV: 1})
    result = story.judged()
    assert [one.id for one in result.anomalies] == ["unrequested-feature-level"]
    assert (
        "n2 reported transaction.version 1 in epoch 55; it was 2 in epoch 50" in result.anomalies[0].summary
    )


def test_a_level_that_nobody_requested_is_reported_in_the_first_report_too() -> None:
    story = FeatureStory()
    story.report(10, "n1", 50, levels={TV: 1})
    story.report(20, "n1", 51)
    result = story.judged()
    assert [one.id for one in result.anomalies] == ["unrequested-feature-level"]
    assert result.anomalies[0].summary.endswith("it was 2 at first")


def test_a_level_that_comes_back_without_a_request_is_reported() -> None:
    story = FeatureStory()
    story.report(10, "n1", 50)
    story.ask(20, 40, TV, 1, type=SAFE)
    story.report(60, "n1", 60, levels={TV: 1})
    story.report(70, "n2", 65)
    assert story.found() == ["feature-level-went-back"]


def test_a_level_that_was_requested_before_the_last_change_comes_back_without_a_request() -> None:
    story = FeatureStory()
    story.report(5, "n1", 40)
    story.ask(10, 15, TV, 1, type=SAFE)
    story.report(20, "n1", 50, levels={TV: 1})
    story.ask(30, 35, TV, 0, type=SAFE)
    story.report(40, "n1", 60, levels={TV: 0})
    story.report(50, "n1", 70, levels={TV: 1})
    assert story.found() == ["feature-level-went-back"]


def test_a_request_without_an_answer_may_take_effect_at_any_later_time() -> None:
    story = FeatureStory()
    story.report(5, "n1", 40)
    story.ask(10, None, TV, 1, type=SAFE)
    story.ask(20, 25, TV, 0, type=SAFE)
    story.report(40, "n1", 60, levels={TV: 0})
    story.report(50, "n1", 70, levels={TV: 1})
    assert story.found() == []


def test_a_node_that_is_behind_in_its_epoch_may_report_an_older_level() -> None:
    story = FeatureStory()
    story.report(10, "n1", 50)
    story.ask(20, 40, TV, 1, type=SAFE)
    story.report(60, "n1", 60, levels={TV: 1})
    story.report(70, "n2", 55)
    assert story.found() == []


def test_two_levels_in_one_epoch_are_reported() -> None:
    story = FeatureStory()
    story.report(10, "n1", 50)
    story.ask(20, 40, TV, 1, type=SAFE)
    story.report(60, "n1", 60, levels={TV: 1})
    story.report(70, "n2", 60)
    assert story.found() == ["divergent-feature-levels"]


def test_reports_that_lack_the_levels_or_are_older_than_the_load_are_not_compared() -> None:
    story = FeatureStory()
    story.report(10, "n1", 50)
    story.report(20, "n2", -1, levels=dict.fromkeys(LEVELS, 0))
    story.report(30, "n3", 7, levels={TV: 0})
    assert story.found() == []


def test_reports_after_a_disk_was_lost_are_not_compared_by_epochs() -> None:
    story = FeatureStory()
    story.report(10, "n1", 50)
    plan = {"kind": "wipe-disk", "spec": {}, "targets": ["n3"], "cut": [], "probe": {}}
    story.both(20, 30, "inject", plan, key="f1")
    story.report(40, "n1", 60, levels={TV: 1})
    assert story.found() == []


def test_an_epoch_that_goes_back_is_reported() -> None:
    story = FeatureStory()
    story.report(10, "n1", 50)
    story.report(20, "n1", 49)
    assert story.found() == ["features-epoch-went-back"]


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_another_process_may_report_an_older_epoch(how: str) -> None:
    story = FeatureStory()
    story.report(10, "n1", 50)
    if how == "killed":
        plan = {"kind": "kill", "spec": {}, "targets": ["n1"], "cut": [], "probe": {}}
        story.both(12, 13, "inject", plan, key="f1")
        story.both(14, 15, "heal", plan, key="f1")
    else:
        story.observe(12, "node", {"status": "exited", "exit_code": 1})
        story.observe(14, "node", {"status": "running"})
    story.report(20, "n1", 49)
    story.report(30, "n1", -1)
    assert story.found() == []


def test_kraft_version_never_goes_back_in_one_process() -> None:
    story = FeatureStory()
    story.report(10, "n1", 50)
    story.report(20, "n1", 50, levels={KRAFT: 0})
    assert story.found() == ["feature-level-went-back"]


def test_kraft_version_that_was_not_certainly_committed_may_go_back() -> None:
    story = FeatureStory(kraft_version=0)
    story.report(10, "n1", 50)
    story.report(20, "n1", 50, levels={KRAFT: 0})
    assert story.found() == []


def test_a_node_without_an_acknowledged_level_after_the_bound_is_reported_once() -> None:
    story = FeatureStory()
    story.ask(20, 40, TV, 1, type=SAFE)
    story.report_until(LATE, "n1")
    result = story.judged()
    assert [one.id for one in result.anomalies] == ["feature-level-behind"]
    assert "n1 reported transaction.version 2 15.5 s after 1 was acknowledged" in result.anomalies[0].summary


def test_a_node_that_did_not_answer_all_the_time_may_be_behind() -> None:
    story = FeatureStory()
    story.ask(20, 40, TV, 1, type=SAFE)
    story.report_until(5 * S, "n1")
    story.report(LATE, "n1", 57)
    assert story.found() == []


def _behind(story: FeatureStory) -> None:
    story.ask(20, 40, TV, 1, type=SAFE)
    story.report_until(LATE, "n1")


def test_a_node_may_be_behind_within_the_bound() -> None:
    story = FeatureStory()
    story.ask(20, 40, TV, 1, type=SAFE)
    story.report_until(14 * S, "n1")
    assert story.found() == []


def test_a_node_may_be_behind_after_a_fault_anywhere() -> None:
    story = FeatureStory()
    _behind(story)
    plan = {"kind": "partition", "spec": {}, "targets": ["n3"], "cut": [["n3", "n1"]], "probe": {}}
    story.both(100, 200, "inject", plan, key="f1")
    assert story.found() == []


def test_a_node_may_be_behind_if_its_process_did_not_run() -> None:
    story = FeatureStory()
    _behind(story)
    story.observe(100, "node", {"status": "paused"})
    story.observe(200, "node", {"status": "running"})
    assert story.found() == []


def test_a_node_is_not_behind_if_another_request_may_have_changed_the_level() -> None:
    story = FeatureStory()
    _behind(story)
    story.ask(30, None, TV, 2)
    assert story.found() == []


def test_a_node_is_not_behind_after_a_later_request() -> None:
    story = FeatureStory()
    _behind(story)
    story.ask(50, 60, TV, 2)
    assert story.found() == []


@pytest.mark.parametrize("end_ms", [None, 60])
def test_a_node_is_behind_although_another_request_had_the_same_level(end_ms: float | None) -> None:
    story = FeatureStory()
    story.ask(10, end_ms, TV, 1, type=SAFE, how="info", code=7)
    _behind(story)
    assert story.found() == ["feature-level-behind"]


def test_a_node_that_never_reports_kraft_version_is_not_behind() -> None:
    story = FeatureStory(kraft_version=0)
    story.ask(20, 40, KRAFT, 1)
    story.report_until(LATE, "n1", levels={KRAFT: 0})
    story.report(10, "n2", 55, levels={KRAFT: 1})
    story.report_until(LATE, "n2", levels={KRAFT: 0})
    assert story.found() == ["feature-level-behind"]


def test_a_validation_and_an_unknown_request_have_their_figures() -> None:
    story = FeatureStory()
    story.ask(10, 15, TV, 1, type=SAFE, only=True)
    story.ask(20, None, TV, 1, type=SAFE)
    story.ask(30, 35, TV, 3, type=UPGRADE, how="fail", code=95)
    assert story.judged().figures["requests"] == {"found valid": 1, "refused": 1, "unknown": 1}


def test_the_levels_of_a_run_are_the_first_one_and_all_that_may_have_been_set() -> None:
    story = FeatureStory()
    story.ask(10, 15, TV, 1, type=SAFE, how="info", code=7)
    story.ask(20, 25, TV, 3, how="fail", code=95)
    story.ask(30, 35, TV, 0, type=SAFE, only=True)
    story.ask(40, 45, ELR, 0, type=SAFE)
    history = story.history()
    assert levels_in_run(history, TV) == {1, 2}
    assert levels_in_run(history, ELR) == {0, 1}
    facts = Facts(history)
    assert (facts.eligible_replicas, facts.no_eligible_replicas) == (True, True)
    facts = Facts(FeatureStory().history())
    assert (facts.eligible_replicas, facts.no_eligible_replicas) == (True, False)
