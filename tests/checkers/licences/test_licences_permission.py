"""When configs may have allowed unclean elections: from when on, until when, and on which nodes."""

from typing import Any

import pytest

from checkers.administration.elections import check_elections
from checkers.columns.tables import NEVER, PartitionName
from checkers.licences import licences_of
from checkers.licences.facts import Facts
from checkers.licences.permission import UNCLEAN_CONFIG, enabled_always, permitted
from tests.checkers.admin_histories import TOPIC, AdminStory
from tests.checkers.log_histories import MS

HERE = PartitionName(TOPIC, 0)
ENABLED, DISABLED = {UNCLEAN_CONFIG: "true"}, {UNCLEAN_CONFIG: "false"}
ALWAYS = [(0, NEVER)]


def topic(config: dict[str, str]) -> dict[str, Any]:
    return {"topics": [{"name": TOPIC, "partitions": 1, "config": config}]}


def alter(story: AdminStory, at_ms: float, end_ms: float | None, value: str | None, how: str = "ok") -> None:
    asked = {"config": UNCLEAN_CONFIG, "value": value, "to": "n1"}
    story.both(at_ms, end_ms, "alter-topic", asked, key=TOPIC, how=how)


def configure(story: AdminStory, at_ms: float, end_ms: float | None, node: str, value: str | None) -> None:
    asked = {"properties": {UNCLEAN_CONFIG: value}}
    story.both(at_ms, end_ms, "configure", asked, key=node, node=node)


def spans(story: AdminStory) -> list[tuple[float, float]]:
    facts = Facts(story.history(metadata_log=False))
    found = permitted(facts, facts.setup.topics[0])
    return [(s.from_ns / MS, NEVER if s.to_ns == NEVER else s.to_ns / MS) for s in found]


def always(story: AdminStory) -> bool:
    facts = Facts(story.history(metadata_log=False))
    return enabled_always(facts, facts.setup.topics[0])


class TestSetup:
    @pytest.mark.parametrize(
        ("setup", "found"),
        [
            ({}, []),
            ({"config": ENABLED}, ALWAYS),
            ({"config": ENABLED, "kafka_version": "3.8.1"}, []),
            ({"config": ENABLED, "kafka_version": "3.8.1", "later_versions": ["3.9.0"]}, ALWAYS),
            ({"config": ENABLED, "node_versions": {"n1": "3.8.1"}}, ALWAYS),
            ({"config": ENABLED} | topic(DISABLED), []),
            (topic(ENABLED), ALWAYS),
            ({"nodes": [], "config": ENABLED}, ALWAYS),
        ],
    )
    def test_what_the_cluster_and_the_topic_have(
        self, setup: dict[str, Any], found: list[tuple[int, int]]
    ) -> None:
        assert spans(AdminStory(**setup)) == found

    @pytest.mark.parametrize(
        ("changes", "found"),
        [
            ([("n1", 50, "3.9.0")], [(50, NEVER)]),
            ([("n1", 50, "3.9.0"), ("n1", 90, "3.8.1")], [(50, 90.5)]),
            ([("n1", 50, "3.9.0"), ("n1", 90, "3.8.1"), ("n2", 70, "3.9.0")], [(50, NEVER)]),
            ([("n3", 50, "3.9.0")], []),
        ],
        ids=["one controller is upgraded", "and goes back", "but another one does not", "a broker"],
    )
    def test_controllers_obey_it_from_their_upgrade_on(
        self, changes: list[tuple[str, int, str]], found: list[tuple[float, float]]
    ) -> None:
        roles = {1: "controller", 2: "controller", 3: "broker"}
        nodes = [{"name": f"n{i}", "id": i, "roles": [role]} for i, role in roles.items()]
        later = sorted({version for _, _, version in changes})
        story = AdminStory(config=ENABLED, nodes=nodes, kafka_version="3.8.1", later_versions=later)
        for node, at_ms, version in changes:
            story.fault(at_ms, at_ms + 5, "upgrade", node, version=version)
        assert spans(story) == found

    @pytest.mark.parametrize(
        ("roles", "config", "found"),
        [
            ({"roles": ["controller"]}, ENABLED, ALWAYS),
            ({}, ENABLED, ALWAYS),
            ({"roles": ["broker"]}, ENABLED, []),
            ({"roles": ["controller"]}, DISABLED, []),
        ],
    )
    def test_one_controller_that_has_it_is_enough(
        self, roles: dict[str, list[str]], config: dict[str, str], found: list[tuple[int, int]]
    ) -> None:
        nodes = [{"name": "n1", "id": 1} | roles, {"name": "n2", "id": 2, "roles": ["controller"]}]
        story = AdminStory(nodes=nodes, node_config={"n1": config})
        assert spans(story) == found
        assert not always(story)

    def test_one_that_has_not_does_not_hinder_the_others(self) -> None:
        story = AdminStory(config=ENABLED, node_config={"n1": DISABLED})
        assert spans(story) == ALWAYS
        assert not always(story)


class TestAlteredTopic:
    @pytest.mark.parametrize(
        ("end_ms", "how", "found"),
        [
            (31, "ok", [(30, NEVER)]),
            (31, "info", [(30, NEVER)]),
            (None, "ok", [(30, NEVER)]),
            (31, "fail", []),
        ],
    )
    def test_enabling_counts_from_when_it_was_asked_for(
        self, end_ms: float | None, how: str, found: list[tuple[int, int]]
    ) -> None:
        story = AdminStory()
        alter(story, 30, end_ms, "true", how)
        assert spans(story) == found

    @pytest.mark.parametrize(("how", "end_ms"), [("ok", 33), ("info", NEVER), ("fail", NEVER)])
    def test_disabling_counts_when_it_is_acknowledged(self, how: str, end_ms: int) -> None:
        story = AdminStory(config=ENABLED)
        alter(story, 30, 33, "false", how)
        assert spans(story) == [(0, end_ms)]
        assert always(story) is (how == "fail")

    def test_on_and_off_and_on(self) -> None:
        story = AdminStory(**topic(DISABLED))
        for at_ms, value in ((10, "true"), (20, "false"), (30, "true"), (40, "false")):
            alter(story, at_ms, at_ms + 1, value)
        assert spans(story) == [(10, 21), (30, 41)]

    def test_what_has_no_answer_may_be_done_after_what_disables(self) -> None:
        story = AdminStory()
        alter(story, 10, None, "true")
        alter(story, 20, 21, "false")
        assert spans(story) == [(10, NEVER)]

    def test_one_that_is_taken_away_leaves_what_nodes_have(self) -> None:
        story = AdminStory(config=ENABLED, **topic(DISABLED))
        alter(story, 10, 11, None)
        assert spans(story) == [(10, NEVER)]
        assert not always(story)

    def test_other_topics_and_configs_do_not_matter(self) -> None:
        story = AdminStory()
        asked = {"config": UNCLEAN_CONFIG, "value": "true"}
        story.both(10, 11, "alter-topic", asked, key="other")
        story.both(12, 13, "alter-topic", asked | {"config": "retention.ms"}, key=TOPIC)
        assert spans(story) == []

    def test_enabled_by_the_topic_all_the_time(self) -> None:
        story = AdminStory(**topic(ENABLED))
        alter(story, 10, 11, "true")
        assert always(story)


def recorded(
    story: AdminStory, at_ms: float, value: str | None, name: str = UNCLEAN_CONFIG, kind: int = 2
) -> None:
    """The metadata log has a record of a config."""
    config = {"resourceType": kind, "resourceName": TOPIC, "name": name, "value": value}
    story.record(at_ms, "CONFIG_RECORD", config)


class TestAlteredTopicThatNobodyAnswered:
    """What became of the request is looked up in the metadata log."""

    def spans(self, story: AdminStory, **options: Any) -> list[tuple[float, float]]:
        facts = Facts(story.history(**options))
        found = permitted(facts, facts.setup.topics[0])
        return [(s.from_ns / MS, NEVER if s.to_ns == NEVER else s.to_ns / MS) for s in found]

    def test_it_happened_when_its_record_was_appended(self) -> None:
        story = AdminStory(config=ENABLED)
        alter(story, 30, None, "false")
        recorded(story, 40, "false")
        assert self.spans(story) == [(0, 40.4)]

    def test_it_did_not(self) -> None:
        story = AdminStory()
        alter(story, 30, None, "true")
        recorded(story, 10, "true")
        recorded(story, 40, "false")
        recorded(story, 50, "true", "retention.ms")
        recorded(story, 60, "true", kind=4)
        assert self.spans(story) == []
        assert self.spans(story, metadata_log=False) == [(30, NEVER)]

    def test_it_may_have_where_the_log_begins_too_late(self) -> None:
        story = AdminStory()
        alter(story, 30, None, "true")
        recorded(story, 40, "false")
        assert self.spans(story, log_start=1) == [(30, NEVER)]

    def test_of_two_records_nobody_knows_which_is_its_own(self) -> None:
        story = AdminStory(config=ENABLED)
        alter(story, 30, None, "false")
        recorded(story, 40, "false")
        recorded(story, 50, "false")
        assert self.spans(story) == ALWAYS

    def test_what_was_not_done_does_not_hinder_what_was_allowed_all_the_time(self) -> None:
        story = AdminStory(config=ENABLED)
        alter(story, 30, None, "false")
        recorded(story, 10, "true")
        facts = Facts(story.history())
        assert enabled_always(facts, facts.setup.topics[0])


class TestConfiguredNode:
    def test_enabling_counts_from_when_it_was_written(self) -> None:
        story = AdminStory()
        configure(story, 30, 31, "n2", "true")
        configure(story, 40, 41, "stranger", "true")
        assert spans(story) == [(30, NEVER)]

    def test_other_properties_do_not_matter(self) -> None:
        story = AdminStory()
        story.both(30, 31, "configure", {"properties": {"log.dirs": "/d"}}, key="n1", node="n1")
        assert spans(story) == []

    @pytest.mark.parametrize("value", ["false", None])
    def test_disabling_counts_when_the_process_has_ended(self, value: str | None) -> None:
        story = AdminStory(node_config={"n1": ENABLED})
        story.fault(10, 15, "kill", "n1")
        configure(story, 30, 31, "n1", value)
        assert spans(story) == ALWAYS
        for at_ms, kind, node in ((32, "pause", "n1"), (34, "kill", "n2"), (36, "stop", "n1")):
            story.fault(at_ms, at_ms + 1, kind, node)
        assert spans(story) == [(0, 36.5)]

    def test_a_property_that_was_replaced_before_any_start(self) -> None:
        story = AdminStory()
        configure(story, 30, 31, "n1", "true")
        configure(story, 40, 41, "n1", "false")
        story.fault(50, 51, "kill", "n1")
        assert spans(story) == [(30, 50.5)]

    def test_one_that_was_not_acknowledged_may_be_written_later(self) -> None:
        story = AdminStory(node_config={"n1": ENABLED})
        configure(story, 30, None, "n1", "false")
        story.fault(50, 51, "kill", "n1")
        assert spans(story) == ALWAYS


def elected(at_ms: float, **setup: Any) -> AdminStory:
    """Broker 2 is elected uncleanly."""
    story = AdminStory(**setup)
    story.created()
    story.view(5, 0, [1])
    story.changed(at_ms - 5, isr=[1], leader=-1)
    story.changed(at_ms, isr=[2], leader=2, leaderRecoveryState=1)
    story.view(at_ms + 2, 2, [2])
    return story


@pytest.mark.parametrize(
    ("at_ms", "value", "allowed"),
    [(20, "true", False), (31, "true", True), (50, "true", True), (31, "false", True), (50, "false", False)],
)
def test_only_elections_while_it_was_allowed_are(at_ms: float, value: str, *, allowed: bool) -> None:
    story = elected(at_ms, config=ENABLED if value == "false" else {})
    alter(story, 30, 32, value)
    assert bool(licences_of(story.history()).of(HERE)) is allowed
    assert ("unclean-election-unlicensed" not in check_elections(story.history()).counts) is allowed


@pytest.mark.parametrize(("at_ms", "allowed"), [(10, False), (40, True)])
def test_so_it_is_where_nobody_can_tell_of_elections(at_ms: float, *, allowed: bool) -> None:
    story = AdminStory()
    story.view(5, 0, [1])
    story.fault(at_ms, at_ms + 5, "kill", "n1")
    alter(story, 30, 32, "true")
    assert bool(licences_of(story.history(metadata_log=False)).of(HERE)) is allowed


def test_a_fault_licenses_from_when_it_was_allowed() -> None:
    story = AdminStory()
    story.fault(10, 50, "kill", "n1")
    alter(story, 30, 32, "true")
    (permit,) = licences_of(story.history(metadata_log=False)).of(HERE)
    assert (permit.event.from_ns, permit.event.to_ns) == (30 * MS, round(50.5 * MS))


@pytest.mark.parametrize("node", ["n1", "n3"])
def test_what_one_node_has_allows_elections(node: str) -> None:
    story = elected(40, node_config={node: ENABLED})
    assert licences_of(story.history()).of(HERE)
    assert check_elections(story.history()).counts == {}


def test_so_does_what_it_was_configured_with_before_it_started_again() -> None:
    story = elected(40)
    configure(story, 10, 11, "n3", "true")
    assert licences_of(story.history()).of(HERE)
    assert check_elections(story.history()).counts == {}
