"""Rules go by what a history records of a fault, so that they judge faults of which no checker knows."""

from collections import Counter
from collections.abc import Callable
from typing import get_args

import pytest

from checkers.evidence.faults import fault_windows
from checkers.history.operations import History
from checkers.judge import judge
from checkers.logs.replicas.deleted_records import find_returned
from checkers.logs.replicas.kept_starts import find_not_kept
from checkers.verdict.verdict import CheckerResult
from harness.vocabulary.faults import Fault
from harness.vocabulary.injected import kind_of
from tests.checkers.admin_histories import READER, TOPIC, TOPIC_ID, AdminStory
from tests.checkers.invented_faults import PREFIX, invented, stated, unsaid
from tests.checkers.log_histories import MS
from tests.checkers.logs.replicas.replica_histories import Batch, replica
from tests.mutations.recordings import recorded

KINDS = [kind_of(word) for word in get_args(Fault)]
NEWER = {"upgrade"}
"""Kinds that are in no history of which injections do not state what they do."""
ENDING = [kind_of(word) for word in get_args(Fault) if word.ends_processes]


def struck(kind: str) -> AdminStory:
    """Records that were deleted, and later a fault of n1."""
    story = AdminStory()
    story.created()
    story.both(100, 110, "delete-records", [[0, 5]], key=TOPIC)
    story.fault(12_000, 17_000, kind, "n1")
    ended = {"oom": False, "started_at": "1"}
    story.observe(13_000, "node", ended | {"status": "exited", "exit_code": 143}, node="n1")
    story.observe(17_100, "node", ended | {"status": "running", "exit_code": 0, "started_at": "2"}, node="n1")
    return story


def returned(kind: str) -> History:
    """After a fault a log begins before what was deleted."""
    story = struck(kind)
    asked = READER | {"partition": 0}
    answer = asked | {"start": 0, "end": 9, "position": 9, "records": []}
    story.both(20_000, 20_001, "final-read", asked, answer=answer, key=TOPIC)
    return story.history()


def not_kept(kind: str) -> History:
    """After a fault a log on disk begins before what was deleted."""
    story = struck(kind)
    seen = replica([Batch(0, 9)], began_ns=30_000 * MS, log_start=0, topic_id=TOPIC_ID)
    story.observe(30_001, "replica", seen, node="n1")
    return story.history()


def illegal(history: History) -> dict[str, int]:
    """Rules by which something illegal is found, and how often."""
    found = [*find_returned(history, Counter()), *find_not_kept(history, Counter())]
    return Counter(one.id for one in found if one.illegal)


@pytest.mark.parametrize("story", [returned, not_kept])
@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_fault_is_judged_by_what_its_word_means(
    story: Callable[[str], History], kind: str
) -> None:
    known = story(kind) if kind not in NEWER else stated(story(kind))
    assert illegal(invented(known)) == illegal(known)


def test_one_that_stops_processes_cleanly_licenses_nothing() -> None:
    assert illegal(invented(returned("stop"))) == {"deleted-records-returned": 1}
    assert illegal(invented(not_kept("stop"))) == {"deletion-not-kept": 1}


@pytest.mark.parametrize("story", [returned, not_kept])
@pytest.mark.parametrize("kind", ENDING)
def test_one_that_ends_processes_and_declares_no_more_licenses_all_that_it_may_have_done(
    story: Callable[[str], History], kind: str
) -> None:
    assert illegal(unsaid(story(kind))) == {}


@pytest.mark.parametrize("name", ["disks"])
def test_a_recorded_run_has_the_same_verdict(name: str) -> None:
    known = recorded(name)
    renamed = invented(known)
    windows = fault_windows(renamed)
    assert windows
    assert all(window.kind.startswith(PREFIX) for window in windows)
    assert results_by_checker(renamed) == results_by_checker(known)


def results_by_checker(history: History) -> dict[str, str]:
    """What each checker reports, by the old names of the faults."""
    return {result.checker: _text_of(result) for result in judge(history).results}


def _text_of(result: CheckerResult) -> str:
    unmet = [one.name for one in result.assumptions if not one.met]
    return f"{result.validity} {result.counts} {result.figures} {unmet}".replace(PREFIX, "")
