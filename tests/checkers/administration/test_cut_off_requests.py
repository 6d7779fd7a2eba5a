"""Admin operations whose answer never came: who asked was killed, or who was asked, or the network was cut.

A journal that ends at the invocation means the same as one that goes on to ``info``: nobody knows.  It is for
the metadata log to tell what became of it.
"""

from collections.abc import Callable
from typing import Any

import pytest

from checkers.administration.elections import check_elections
from checkers.administration.reassignments import check_reassignments
from checkers.evidence.fates import Fate
from checkers.history.operations import History, OperationType
from checkers.judge import judge
from checkers.verdict.verdict import CheckerResult
from tests.checkers.admin_histories import TOPIC, TOPIC_ID, AdminStory

Ask = Callable[[AdminStory, float | None], None]
ASKED_MS, ANSWERED_MS = 50, 52


def elect(kind: str, *, everywhere: bool = False) -> Ask:
    def ask(story: AdminStory, end_ms: float | None) -> None:
        story.elect(ASKED_MS, end_ms, kind=kind, how="info", all_partitions=everywhere)

    return ask


def reassign(*target: int) -> Ask:
    def ask(story: AdminStory, end_ms: float | None) -> None:
        story.reassign(ASKED_MS, end_ms, target or None, how="info")

    return ask


def alter(config: str, value: str) -> Ask:
    def ask(story: AdminStory, end_ms: float | None) -> None:
        asked = {"config": config, "value": value, "to": "n1"}
        story.both(ASKED_MS, end_ms, "alter-topic", asked, key=TOPIC, how="info")

    return ask


def plain(f: str, key: Any, asked: Any) -> Ask:
    def ask(story: AdminStory, end_ms: float | None) -> None:
        story.both(ASKED_MS, end_ms, f, asked, key=key, how="info")

    return ask


VOTER = {"directory_id": "d9", "to": "n1", "endpoints": [["CONTROLLER", "10.0.0.9", 9093]]}
REQUESTS = {
    "preferred": elect("preferred"),
    "unclean": elect("unclean"),
    "unclean everywhere": elect("unclean", everywhere=True),
    "add voter": plain("add-voter", 9, VOTER),
    "remove voter": plain("remove-voter", 2, {"directory_id": "d2", "to": "n1"}),
    "reassign": reassign(2, 3),
    "cancel": reassign(),
    "config": alter("unclean.leader.election.enable", "true"),
    "another config": alter("min.insync.replicas", "1"),
    "feature": plain("update-feature", "kraft.version", {"level": 1, "to": "n1"}),
    "delete records": plain("delete-records", TOPIC, [[0, 1]]),
}


def busy(ask: Ask, end_ms: float | None) -> History:
    """A move is under way, nobody leads for a while, an unclean election is held, a record is lost."""
    story = AdminStory()
    story.created([1, 2])
    story.send(5, 7, 0)
    story.view(6, 0, [1, 2], replicas=(1, 2))
    story.changed(20, replicas=[2, 3, 1], addingReplicas=[3], removingReplicas=[1])
    story.changed(30, isr=[1], leader=-1)
    ask(story, end_ms)
    story.changed(60, isr=[2], leader=2, leaderRecoveryState=1)
    story.view(62, 2, [2], replicas=(2, 3, 1))
    story.epochs((0, 0), (2, 0))
    story.final(end=1)
    return story.history()


@pytest.mark.parametrize("name", REQUESTS)
def test_a_journal_that_ends_at_the_invocation_is_judged_as_if_nobody_knew(name: str) -> None:
    """By every checker, in every word but the place of the completion."""
    ended, cut = (judge(busy(REQUESTS[name], end)).results for end in (ANSWERED_MS, None))
    assert _without_places(ended) == _without_places(cut)
    assert not [result.unknown_because for result in cut if "raised" in str(result.unknown_because)]


def _without_places(results: tuple[CheckerResult, ...]) -> list[tuple[Any, ...]]:
    return [
        (
            r.checker,
            r.validity,
            r.counts,
            r.figures,
            r.unknown_because,
            [(a.id, a.licence) for a in r.anomalies],
        )
        for r in results
    ]


def test_the_last_line_of_all_may_be_the_invocation() -> None:
    """Who asked was killed with all the rest: no evidence was gathered."""
    story = AdminStory()
    story.created([1, 2])
    story.elect(ASKED_MS, kind="unclean")
    story.reassign(ASKED_MS + 1, None, [2, 3])
    history = story.history(metadata_log=False)
    assert history.operations[-1].type is OperationType.INVOKE
    assert check_elections(history).figures["requests_resolved"] == {"open": 1}
    assert check_reassignments(history).figures["of_unknown_outcome_resolved"] == {"open": 1}


def resolved(story: AdminStory, **options: Any) -> dict[str, int]:
    """Of elections, reassignments and configs together."""
    history = story.history(**options)
    figures = check_elections(history).figures
    of_moves: dict[str, int] = check_reassignments(history).figures["of_unknown_outcome_resolved"]
    return {**figures["requests_resolved"], **figures["configs_resolved"], **of_moves}


def after(ask: Ask, *changes: dict[str, Any], moving: bool = False) -> AdminStory:
    """What the metadata log has after a request that nobody answered."""
    story = AdminStory()
    story.created([2, 1], leader=1)
    if moving:
        story.changed(20, replicas=[2, 3, 1], addingReplicas=[3], removingReplicas=[1])
    ask(story, None)
    for number, change in enumerate(changes):
        story.changed(60 + 5 * number, **change)
    return story


OFFLINE = {"isr": [1], "leader": -1}


@pytest.mark.parametrize(
    ("story", "fate"),
    [
        pytest.param(after(REQUESTS["preferred"], {"leader": 2}), Fate.HAPPENED, id="preferred: leads"),
        pytest.param(
            after(REQUESTS["preferred"], {"isr": [1]}), Fate.NOT, id="preferred: nobody was elected"
        ),
        pytest.param(
            after(REQUESTS["preferred"], OFFLINE, {"leader": 1}), Fate.NOT, id="preferred: another was"
        ),
        pytest.param(after(REQUESTS["unclean"], OFFLINE, {"leader": 2}), Fate.HAPPENED, id="unclean"),
        pytest.param(after(REQUESTS["unclean"], {"leader": 2}), Fate.NOT, id="unclean: there was a leader"),
        pytest.param(
            after(REQUESTS["unclean everywhere"], OFFLINE, {"leader": 2}),
            Fate.HAPPENED,
            id="of all partitions",
        ),
        pytest.param(after(REQUESTS["unclean everywhere"]), Fate.NOT, id="of all partitions: none"),
        pytest.param(
            after(
                REQUESTS["reassign"], {"replicas": [2, 3, 1], "addingReplicas": [3], "removingReplicas": [1]}
            ),
            Fate.HAPPENED,
            id="reassign: under way",
        ),
        pytest.param(
            after(REQUESTS["reassign"], {"replicas": [2, 3]}), Fate.HAPPENED, id="reassign: at once"
        ),
        pytest.param(after(REQUESTS["reassign"], {"isr": [2]}), Fate.NOT, id="reassign: not"),
        pytest.param(
            after(
                REQUESTS["cancel"],
                {"replicas": [2, 1], "addingReplicas": [], "removingReplicas": []},
                moving=True,
            ),
            Fate.HAPPENED,
            id="cancel",
        ),
        pytest.param(
            after(REQUESTS["cancel"], {"isr": [2, 3]}, moving=True), Fate.NOT, id="cancel: it goes on"
        ),
        pytest.param(after(REQUESTS["cancel"], {"isr": [2]}), Fate.NOT, id="cancel: nothing went on"),
        pytest.param(after(REQUESTS["config"]), Fate.NOT, id="config: not"),
    ],
)
def test_the_metadata_log_shows_what_became_of_it(story: AdminStory, fate: Fate) -> None:
    assert resolved(story) == {str(fate): 1}
    assert resolved(story, metadata_log=False) == {"open": 1}


def test_a_config_has_a_record_too() -> None:
    story = after(REQUESTS["config"])
    config = {"resourceType": 2, "resourceName": TOPIC, "name": "unclean.leader.election.enable"}
    story.record(70, "CONFIG_RECORD", config | {"value": "true"})
    assert resolved(story) == {"happened": 1}


@pytest.mark.parametrize("ask", [REQUESTS["preferred"], REQUESTS["reassign"]])
def test_it_is_open_where_the_log_ends_too_soon(ask: Ask) -> None:
    assert resolved(after(ask, {"isr": [2]}), cut=2) == {"open": 1}


@pytest.mark.parametrize("ask", [REQUESTS["preferred"], REQUESTS["reassign"]])
def test_it_is_open_of_a_partition_that_the_log_does_not_tell_of(ask: Ask) -> None:
    story = AdminStory()
    story.record(1, "TOPIC_RECORD", {"name": "other", "topicId": TOPIC_ID})
    ask(story, None)
    assert resolved(story) == {"open": 1}
