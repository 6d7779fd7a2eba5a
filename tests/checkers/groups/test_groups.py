"""Every finding of the checker of groups: the smallest history that shows it, and one beside it without."""

import msgspec
import pytest

from checkers.columns.tables import NEVER, PartitionName
from checkers.groups import check_groups, excuses
from checkers.history.operations import OperationType
from checkers.judge import result_by
from checkers.licences import LicenceEvent, Licences, Permit
from checkers.licences.internal import Loss
from checkers.verdict.verdict import Anomaly, CheckerResult, Validity
from tests.checkers.groups.group_histories import FAIL, GROUP, INFO, INVOKE, OK, TOPIC, GroupStory

SECOND_NS = 1_000_000_000


def judged(story: GroupStory) -> CheckerResult:
    return check_groups(story.history())


def only(result: CheckerResult, name: str) -> Anomaly:
    assert result.validity is Validity.INVALID
    assert set(result.counts) == {name}
    found = [anomaly for anomaly in result.anomalies if anomaly.id == name]
    assert found
    return found[0]


def drained(story: GroupStory, start: int, given: list[int], records: int = 4) -> None:
    """Recovery, a last member that reads from `start`, and a log of so many records."""
    story.recovers()
    story.assigned(16, 9, {0: start}, {0: given} if given else {})
    story.reads(range(records))


def test_a_history_without_groups_does_not_exercise_it() -> None:
    story = GroupStory()
    story.polled(1, {0: [0]}, group=None)
    story.reads([0])

    result = judged(story)
    assert (result.validity, result.figures) == (Validity.NOT_EXERCISED, {})


def test_a_group_that_is_given_everything_is_valid_and_counted() -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0, 1]})
    story.commits(1, {0: 1})
    story.commits(1, {0: 2}, INFO)
    story.now_ns += SECOND_NS
    story.assigned(2, 2, {0: 1}, {0: [1, 2]})
    story.polled(2, {})
    story.commits(2, {0: 3}, FAIL)
    drained(story, 2, [2, 3])

    result = judged(story)
    assert result.validity is Validity.VALID
    assert result.figures == {
        GROUP: {
            "members": 3,
            "assignments": 3,
            "generations": 3,
            "commits_ok": 1,
            "commits_fail": 1,
            "commits_info": 1,
            "commits_of_outsiders": 0,
            "commits_premature": 0,
            "delivered": 4,
            "redelivered": 2,
            "unowned_max_ms": 1060.0,
        }
    }


# -- undelivered ---------------------------------------------------------------------------------------------


def test_records_below_a_commit_must_have_been_given() -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0]})
    commit = story.commits(1, {0: 3})
    story.reads(range(4))

    result = judged(story)
    found = only(result, "undelivered")
    assert result.counts == {"undelivered": 2}
    assert found.subject == f"{GROUP}: {TOPIC}/0@1"
    assert found.witness == (commit, commit + 1)
    assert found.time_ns == story.operations[commit + 1].time_ns


def test_records_above_every_commit_may_be_given_later() -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0]})
    story.commits(1, {0: 1})
    story.commits(1, {0: 3}, INFO)
    story.reads(range(4))

    assert judged(story).validity is Validity.VALID


def test_records_below_the_beginning_of_an_assignment_must_have_been_given() -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0]})
    story.commits(1, {0: 2}, INFO)
    poll = story.assigned(2, 2, {0: 2}, {0: [2, 3]})
    story.reads(range(4))

    assert only(judged(story), "undelivered").witness == (poll - 1, poll)


def test_a_last_member_that_reads_on_passes_what_it_was_not_given() -> None:
    story = GroupStory()
    drained(story, 0, [0, 1, 3])

    found = only(judged(story), "undelivered")
    assert found.subject == f"{GROUP}: {TOPIC}/0@2"
    assert found.witness == ()


def test_what_an_earlier_member_was_given_need_not_be_given_again() -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [2, 1, 0]})
    drained(story, 0, [0, 3])

    assert judged(story).validity is Validity.VALID


def test_every_record_that_was_passed_over_is_counted_and_twenty_are_listed() -> None:
    story = GroupStory()
    drained(story, 0, [99], records=100)

    result = judged(story)
    assert result.counts == {"undelivered": 99}
    assert len(result.anomalies) == 20


def test_offsets_where_nothing_stands_need_not_be_given() -> None:
    story = GroupStory()
    story.recovers()
    story.assigned(16, 9, {0: 0}, {0: [0, 5]})
    story.reads([0, 5])

    assert judged(story).validity is Validity.VALID


# -- committed-offset-lost -----------------------------------------------------------------------------------


def test_an_assignment_that_goes_back_before_an_acknowledged_commit() -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0, 1]})
    story.commits(1, {0: 1})
    second = story.commits(1, {0: 2})
    poll = story.assigned(2, 2, {0: 1})

    found = only(judged(story), "committed-offset-lost")
    assert found.witness == (second, second + 1, poll - 1, poll)
    assert "start offset 1, but 2 had been committed" in found.summary


def test_an_assignment_at_the_logs_start_although_something_was_committed() -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0, 1]})
    story.commits(1, {0: 2})
    story.assigned(2, 2, {0: 0})

    only(judged(story), "committed-offset-lost")


@pytest.mark.parametrize("start", [1, 2, 3])
def test_commits_that_overlap_or_are_of_unknown_fate_may_be_the_last(start: int) -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0, 1, 2]})
    story.commits(1, {0: 1}, INFO)
    story.members[4] = story.members[3] = story.members[1]
    story.begins_commit(3, {0: 2})
    story.begins_commit(4, {0: 3})
    story.ends_commit(3, {0: 2})
    story.ends_commit(4, {0: 3})
    story.assigned(2, 2, {0: start})

    assert judged(story).validity is Validity.VALID


def test_an_offset_that_nobody_committed() -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0, 1, 2]})
    story.commits(1, {0: 2}, FAIL)
    story.commits(1, {1: 2})
    poll = story.assigned(2, 2, {0: 2})

    found = only(judged(story), "committed-offset-lost")
    assert found.witness == (poll - 1, poll)
    assert "something else had been committed" in found.summary


def test_an_offset_that_is_committed_only_later() -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0, 1, 2]})
    story.commits(1, {0: 1})
    story.assigned(2, 2, {0: 3})
    story.commits(2, {0: 3})

    assert "3, but 1 had been" in only(judged(story), "committed-offset-lost").summary


def test_a_commit_under_way_may_be_what_an_assignment_gets() -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0, 1, 2]})
    story.begins_commit(1, {0: 3})
    story.assigned(2, 2, {0: 3})
    story.ends_commit(1, {0: 3})

    assert judged(story).validity is Validity.VALID


def test_a_member_of_an_old_generation_may_get_what_is_old() -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0]})
    story.commits(1, {0: 1})
    story.assigned(2, 3, {0: 1}, {0: [1]})
    story.commits(2, {0: 2})
    story.assigned(3, 2, {0: 1})

    assert judged(story).validity is Validity.VALID


def test_without_generations_nothing_is_known_to_be_overwritten() -> None:
    story = GroupStory()
    story.assigned(1, None, {0: 0}, {0: [0, 1]})
    story.commits(1, {0: 1})
    story.commits(1, {0: 2})
    story.assigned(2, None, {0: 1})
    story.assigned(3, 7, {0: 1})

    assert judged(story).validity is Validity.VALID


def test_a_log_that_begins_later_may_be_begun_there() -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 3}, {0: [3]})
    story.reads([3], start=3)

    assert judged(story).validity is Validity.VALID


# -- zombie-commit, two-owners -------------------------------------------------------------------------------


def test_a_commit_of_a_generation_that_is_over() -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0]})
    poll = story.assigned(2, 2, {0: 0}, {0: [0]})
    story.assigned(3, 2, {1: 0})
    commit = story.commits(1, {0: 1})

    assert only(judged(story), "zombie-commit").witness == (poll - 1, poll, commit, commit + 1)


@pytest.mark.parametrize("outcome", [FAIL, INFO, None])
def test_a_commit_that_is_not_acknowledged_is_no_zombies(outcome: OperationType | None) -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0]})
    story.assigned(2, 2, {0: 0}, {0: [0]})
    story.commits(1, {0: 1}, outcome)

    assert judged(story).validity is Validity.VALID


def test_a_commit_that_began_before_the_next_generation_was_known() -> None:
    story = GroupStory()
    story.commits(1, {0: 1})
    story.assigned(1, 1, {0: 1}, {0: [0]})
    story.begins_commit(1, {0: 1})
    story.assigned(2, 2, {0: 1})
    story.ends_commit(1, {0: 1})
    story.commits(2, {0: 1})

    assert judged(story).validity is Validity.VALID


def test_a_commit_of_a_generation_that_nobody_knew() -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0]})
    poll = story.assigned(2, 3, {1: 0})
    story.assigned(3, 2, {2: 0})
    commit = story.commits(1, {0: 1}, generation=4)
    story.assigned(1, 4, {0: 1})

    found = only(judged(story), "premature-commit")
    assert found.witness == (poll - 1, poll, commit, commit + 1)
    assert "in generation 4, and the newest was 3" in found.summary


def test_a_commit_before_the_first_generation() -> None:
    story = GroupStory()
    story.members[1] = ("member-1", 1)
    commit = story.commits(1, {0: 0})
    story.assigned(1, 1, {0: 0}, {0: [0]})

    assert only(judged(story), "premature-commit").witness == (commit, commit + 1)


@pytest.mark.parametrize("outcome", [FAIL, INFO, None])
def test_a_commit_of_a_generation_to_come_that_is_not_acknowledged(outcome: OperationType | None) -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0]})
    story.commits(1, {0: 1}, outcome, generation=9)

    result = judged(story)
    assert result.validity is Validity.VALID
    assert result.figures[GROUP]["commits_premature"] == int(outcome is not None)


def test_a_generation_that_a_poll_under_way_reports_may_be_known() -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0]})
    asked = {"client": "c", "isolation": "read_uncommitted", "group": GROUP}
    story.add(2, INVOKE, "poll", TOPIC, asked)
    story.commits(1, {0: 1}, generation=2)
    answer = {**asked, "records": [], "assigned": [[1, 0]], "membership": ["member-2", 2]}
    story.add(2, OK, "poll", TOPIC, answer)

    assert judged(story).validity is Validity.VALID


def test_who_reported_a_generation_may_be_lost() -> None:
    story = GroupStory()
    story.setup(GROUP)
    story.assigned(1, 1, {0: 0}, {0: [0]})
    story.commits(1, {0: 1}, generation=9)
    history = msgspec.structs.replace(story.history(), lacking=frozenset({"worker-3"}))

    result = result_by("groups", check_groups, history)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
    assert "premature-commit may only be a gap" in str(result.unknown_because)


@pytest.mark.parametrize("assigned", [True, False])
def test_where_generations_are_not_recorded_any_may_be_known(*, assigned: bool) -> None:
    story = GroupStory()
    if assigned:
        story.assigned(1, None, {0: 0}, {0: [0]})
    story.members[1] = ("member-1", 9)
    story.commits(1, {0: 1})

    assert judged(story).validity is Validity.VALID


def test_one_partition_for_two_members_of_a_generation_is_reported_once() -> None:
    story = GroupStory()
    first = story.assigned(1, 1, {0: 0})
    story.assigned(1, 1, {0: 0})
    second = story.assigned(2, 1, {0: 0})
    story.assigned(3, 1, {0: 0})
    story.assigned(4, None, {0: 0})
    story.assigned(5, 2, {0: 0})

    result = judged(story)
    assert only(result, "two-owners").witness == (first - 1, first, second - 1, second)
    assert result.counts == {"two-owners": 1}


# -- rebalance-stuck, and what makes a verdict unknown -------------------------------------------------------


def stuck(seconds: int, *, recovers: bool = True, assigned: dict[int, int] | None = None) -> GroupStory:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0, 1]})
    story.commits(1, {0: 2})
    if recovers:
        story.recovers()
    story.polled(16, {})
    if assigned is not None:
        story.assigned(16, 2, assigned)
    story.now_ns += seconds * SECOND_NS
    story.polled(16, {})
    story.reads([0, 1])
    story.reads([], partition=1)
    return story


def test_a_group_whose_last_member_is_not_assigned_everything() -> None:
    found = only(judged(stuck(60, assigned={0: 2})), "rebalance-stuck")
    assert found.subject == GROUP
    assert f"{TOPIC}/1" in found.summary


@pytest.mark.parametrize(
    "story",
    [stuck(59), stuck(60, recovers=False), stuck(60, assigned={0: 2, 1: 0})],
    ids=["no-time", "no-cluster", "assigned"],
)
def test_a_group_that_had_no_time_no_cluster_or_its_assignment(story: GroupStory) -> None:
    assert judged(story).validity is Validity.VALID


def lived(story: GroupStory) -> GroupStory:
    """A group with as many generations and commits as a run must have."""
    story.setup(GROUP)
    story.add("runner", OK, "phase", "load")
    for generation in (1, 2, 3):
        story.assigned(generation, generation, {0: max(0, 10 * (generation - 1))})
        for offset in range(10 * (generation - 1), 10 * generation):
            story.polled(generation, {0: [offset]})
            story.commits(generation, {0: offset + 1})
    return story


def test_a_group_of_the_set_up_that_is_drained_is_valid() -> None:
    story = lived(GroupStory())
    story.recovers()
    story.assigned(16, 4, {0: 30}, {0: [30]})
    story.reads(range(31))

    assert judged(story).validity is Validity.VALID


def test_a_group_of_the_set_up_that_is_not_drained() -> None:
    story = lived(GroupStory())
    story.recovers()
    story.assigned(16, 4, {0: 30})
    story.reads(range(31))

    result = judged(story)
    assert result.validity is Validity.UNKNOWN
    assert result.unknown_because == f"no member read to the end of {GROUP}: {TOPIC}/0"


def test_a_group_of_the_set_up_whose_topic_was_not_read() -> None:
    story = lived(GroupStory())
    story.reads([], kind=INFO)
    story.reads([], isolation="read_committed")

    assert "read to the end" in str(judged(story).unknown_because)


def test_groups_of_the_set_up_that_did_nothing() -> None:
    story = GroupStory()
    story.setup(GROUP, "group-1")
    story.assigned(1, 1, {0: 0})

    result = judged(story)
    assert result.validity is Validity.UNKNOWN
    assert result.unknown_because == f"{GROUP} received no records; no member of group-1 polled"
    assert [assumption.met for assumption in result.assumptions] == [False] * 4


def test_groups_of_another_workload_need_not_be_drained() -> None:
    story = GroupStory()
    story.setup(GROUP, kind="log")
    story.assigned(1, 1, {0: 0}, {0: [0]})

    assert judged(story).validity is Validity.VALID


def test_an_unclean_election_may_take_offsets() -> None:
    story = GroupStory()
    story.setup(GROUP, kind="log", unclean=True)
    story.assigned(1, 1, {0: 5})

    result = judged(story)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {"committed-offset-lost": 1})
    assert "unclean" in str(result.unknown_because)
    assert not result.anomalies[0].illegal


def deletes(story: GroupStory, partition: int = 0) -> None:
    story.add(7, INVOKE, "delete-records", TOPIC, [[partition, 3]])
    story.add(7, OK, "delete-records", TOPIC, [[partition, 3]])


def test_a_beginning_may_follow_from_what_became_of_its_partition() -> None:
    story = GroupStory()
    story.setup(GROUP, kind="log")
    deletes(story)
    story.assigned(1, 1, {0: 5})
    story.reads([5], start=3)

    result = judged(story)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {"committed-offset-lost": 1})
    assert "may follow from DeleteRecords" in str(result.unknown_because)
    assert result.open_anomalies == ("committed-offset-lost",)


def test_a_beginning_does_not_follow_from_what_became_of_it_later_or_of_another_partition() -> None:
    story = GroupStory()
    story.setup(GROUP, kind="log")
    deletes(story, partition=1)
    story.assigned(1, 1, {0: 5})
    deletes(story)
    story.reads([5], start=3)

    only(judged(story), "committed-offset-lost")


def test_what_was_removed_on_request_excuses_no_record_that_is_there() -> None:
    story = GroupStory()
    story.setup(GROUP, kind="log")
    deletes(story)
    story.assigned(1, 1, {0: 0}, {0: [0, 1]})
    story.commits(1, {0: 5})
    story.reads([3, 4, 5], start=3)

    only(judged(story), "undelivered")


@pytest.mark.parametrize(("partition", "from_offset", "illegal"), [(0, 1, False), (0, 2, True), (1, 0, True)])
def test_a_truncation_excuses_what_stood_behind_it_in_its_partition(
    monkeypatch: pytest.MonkeyPatch, partition: int, from_offset: int, *, illegal: bool
) -> None:
    event = LicenceEvent(0, NEVER, PartitionName(TOPIC, partition), "cut", above=from_offset)
    licences = Licences({TOPIC: [Permit(event, covers_returned=True, text="a permit")]})
    monkeypatch.setattr(excuses, "licences_of", lambda _: licences)
    story = GroupStory()
    story.setup(GROUP, kind="log")
    story.assigned(1, 1, {0: 0}, {0: [0, 2]})
    story.commits(1, {0: 3})
    story.reads([0, 1, 2])

    result = judged(story)
    assert result.counts == {"undelivered": 1}
    assert [anomaly.illegal for anomaly in result.anomalies] == [illegal]


def test_a_record_may_be_written_behind_a_later_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """The group passed offset 1, where it received no record; the log was cut there, and written again."""
    story = GroupStory()
    story.setup(GROUP, kind="log")
    story.assigned(1, 1, {0: 0}, {0: [0, 2]})
    story.commits(1, {0: 3})
    late_ns = story.history().operations[-1].time_ns + 1
    event = LicenceEvent(late_ns, NEVER, PartitionName(TOPIC, 0), "cut", above=1)
    licences = Licences({TOPIC: [Permit(event, covers_returned=True, text="a permit")]})
    monkeypatch.setattr(excuses, "licences_of", lambda _: licences)
    story.reads([0, 1, 2])

    (found,) = judged(story).anomalies
    assert (found.id, found.illegal) == ("undelivered", False)


@pytest.mark.parametrize(
    ("above", "below", "illegal"),
    [(None, None, False), (3, None, False), (4, None, True), (None, 4, False), (None, 3, True)],
)
def test_a_committed_offset_within_the_log_is_not_reset(
    monkeypatch: pytest.MonkeyPatch, above: int | None, below: int | None, *, illegal: bool
) -> None:
    """Offset 3 was committed, and the next member began at 1."""
    event = LicenceEvent(0, NEVER, PartitionName(TOPIC, 0), "an event", below=below, above=above)
    licences = Licences({TOPIC: [Permit(event, covers_returned=True, text="a permit")]})
    monkeypatch.setattr(excuses, "licences_of", lambda _: licences)
    assert [anomaly.illegal for anomaly in judged(_reset()).anomalies] == [illegal]


@pytest.mark.parametrize(
    ("later", "outcome", "illegal"),
    [(5, None, False), (5, INFO, False), (5, FAIL, True), (2, None, True)],
    ids=["unknown outcome", "information", "failed", "within the log"],
)
def test_a_later_commit_may_be_outside_of_the_log(
    monkeypatch: pytest.MonkeyPatch, later: int, outcome: OperationType | None, *, illegal: bool
) -> None:
    """Offset 3 was committed, then perhaps another one, and the log was cut at 4 before the member began."""
    event = LicenceEvent(0, NEVER, PartitionName(TOPIC, 0), "cut", above=4)
    licences = Licences({TOPIC: [Permit(event, covers_returned=True, text="a permit")]})
    monkeypatch.setattr(excuses, "licences_of", lambda _: licences)
    story = GroupStory()
    story.setup(GROUP, kind="log")
    story.assigned(1, 1, {0: 0}, {0: [0, 1, 2]})
    story.commits(1, {0: 3})
    story.commits(1, {0: later}, outcome)
    story.assigned(2, 2, {0: 1}, {0: [1, 2]})

    found = [each for each in judged(story).anomalies if each.id == "committed-offset-lost"]
    assert [each.illegal for each in found] == [illegal]


@pytest.mark.parametrize(
    ("from_place", "until_place", "later_ns", "illegal"),
    [(0, 2, 0, True), (0, 3, 0, False), (6, NEVER, 0, False), (6, NEVER, 1, True)],
    ids=["before the commit", "at it", "as the member began", "after it"],
)
def test_a_loss_explains_a_reset_only_between_the_commit_and_the_reset(
    monkeypatch: pytest.MonkeyPatch, from_place: int, until_place: int, later_ns: int, *, illegal: bool
) -> None:
    story = _reset()
    operations = story.history().operations

    def time_ns(place: int) -> int:
        return place if place == NEVER else operations[place].time_ns

    loss = Loss("a loss", time_ns(until_place), time_ns(from_place) + later_ns)
    monkeypatch.setattr(excuses, "losses", lambda *_: (loss,))
    (found,) = judged(story).anomalies
    assert (found.id, found.illegal) == ("committed-offset-lost", illegal)


def _reset() -> GroupStory:
    """Operations 3 and 4 commit offset 3, and operations 5 and 6 begin at offset 1."""
    story = GroupStory()
    story.setup(GROUP, kind="log")
    story.assigned(1, 1, {0: 0}, {0: [0, 1, 2]})
    story.commits(1, {0: 3})
    story.assigned(2, 2, {0: 1}, {0: [1, 2]})
    return story


def test_damage_makes_the_result_unknown() -> None:
    story = GroupStory()
    story.assigned(1, 1, {0: 0}, {0: [0]})

    result = check_groups(story.history(damage=("a line was cut",)))
    assert result.unknown_because == "a line was cut"
