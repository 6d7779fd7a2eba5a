"""How far a request has come: from what was asked and what is seen, whatever that is."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history.observed import PartitionAnswer
from harness.administration.progress import ReassignmentView, progress_of
from harness.administration.reassignments import ReassignmentAnswer, ReassignmentResult
from harness.administration.request_file import RequestFile, place_of
from harness.administration.requests import (
    FINISHED,
    PartitionStatus,
    ReassignmentState,
    Received,
    Request,
    RequestedPartition,
    Requests,
    abandoned,
    answered,
    cancelled,
    cancelling,
    concluded,
    find,
    freed,
    holder,
    opened,
    remembered,
)
from harness.administration.throttles import Throttle
from harness.errors import KrucibleError, UsageError
from harness.kafka.answers import Ongoing

P0, P1 = ("t", 0), ("t", 1)
LIMIT = Throttle(1, (1,), {}, {})
ACCEPTED = ReassignmentAnswer(0, None, (ReassignmentResult("t", 0, 0, None),))


def requested(
    wanted: tuple[int, ...] = (2, 3), before: tuple[int, ...] = (1, 2), code: int | None = 0
) -> RequestedPartition:
    return RequestedPartition("t", 0, wanted, before, code)


def seen(*replicas: int, leader: int = 2) -> PartitionAnswer:
    return PartitionAnswer(0, leader, 0, replicas, replicas, None)


def moving(*target: int, before: tuple[int, ...] = (1, 2)) -> Ongoing:
    adding = tuple(one for one in target if one not in before)
    removing = tuple(one for one in before if one not in target)
    return Ongoing("t", 0, (*target, *removing), adding, removing)


def status_of(
    one: RequestedPartition,
    *,
    ongoing: Ongoing | None = None,
    partition: PartitionAnswer | None = None,
    sizes: dict[int, dict[tuple[str, int], int]] | None = None,
    settled: bool = True,
    later: Request | None = None,
) -> PartitionStatus:
    request = Request(1, 0, 60, (one,))
    requests = Requests(1, 9, (request, later) if later else (request,))
    view = ReassignmentView(
        {P0: ongoing} if ongoing else {}, {P0: partition} if partition else {}, sizes or {}, settled=settled
    )
    (status,) = progress_of(request, requests, view)
    return status


def test_while_it_goes_on_bytes_of_the_leader_are_the_whole() -> None:
    sizes = {2: {P0: 400}, 3: {P0: 100}}
    status = status_of(requested(), ongoing=moving(2, 3), partition=seen(2, 3, 1), sizes=sizes)
    assert (status.state, status.receiving) == (ReassignmentState.ONGOING, (Received(3, 100, 400),))
    assert status.receiving[0].percentage == 25.0


@pytest.mark.parametrize(
    ("sizes", "received"),
    [
        ({}, Received(3, None, None)),
        ({2: {P0: 0}, 3: {P0: 0}}, Received(3, 0, None)),
        ({2: {P0: 7}}, Received(3, None, 7)),
        ({2: {P0: 7}, 3: {}}, Received(3, 0, 7)),
    ],
    ids=["nobody reports", "an empty leader", "a silent receiver", "a log that is not there yet"],
)
def test_sizes_that_no_broker_reported_are_unknown(
    sizes: dict[int, dict[tuple[str, int], int]], received: Received
) -> None:
    status = status_of(requested(), ongoing=moving(2, 3), partition=seen(2, 3, 1), sizes=sizes)
    assert status.receiving == (received,)


def test_more_than_the_leader_is_all_of_it_and_a_leader_that_grows_takes_it_back() -> None:
    assert [Received(3, n, d).percentage for n, d in ((90, 80), (90, 180))] == [100.0, 50.0]


def test_without_a_leader_there_is_no_whole() -> None:
    partition = seen(2, 3, 1, leader=-1)
    status = status_of(requested(), ongoing=moving(2, 3), partition=partition, sizes={3: {P0: 5}})
    assert status.receiving == (Received(3, 5, None),)


@pytest.mark.parametrize("settled", [True, False])
def test_complete_is_who_has_the_replicas_in_their_order(*, settled: bool) -> None:
    sizes = {2: {P0: 8}, 3: {P0: 8}}
    status = status_of(requested(), partition=seen(2, 3), sizes=sizes, settled=settled)
    assert (status.state, status.receiving) == (ReassignmentState.COMPLETE, (Received(3, 8, 8),))


def test_other_replicas_are_an_error_once_the_broker_had_time_to_learn() -> None:
    early = status_of(requested(), partition=seen(1, 2), settled=False)
    assert (early.state, early.detail) == (ReassignmentState.UNKNOWN, "it began, but no broker shows it yet")
    late = status_of(requested(), partition=seen(3, 2))
    assert (late.state, late.detail) == (
        ReassignmentState.ERROR,
        "no reassignment is ongoing, and the replicas are 3, 2",
    )
    gone = status_of(requested())
    assert (gone.state, gone.detail) == (ReassignmentState.ERROR, "the partition no longer exists")


def test_without_an_answer_only_what_is_seen_counts() -> None:
    assert (
        status_of(requested(code=None), ongoing=moving(3, 2), partition=seen(3, 2, 1)).state
        is ReassignmentState.ONGOING
    )
    assert status_of(requested(code=7), partition=seen(2, 3)).state is ReassignmentState.COMPLETE
    never = status_of(requested(code=41), partition=seen(1, 2))
    assert (never.state, never.detail[:20]) == (ReassignmentState.UNKNOWN, "there was no answer;")
    other = status_of(requested(code=None), ongoing=moving(4), partition=seen(4, 1, 2))
    assert (other.state, other.detail) == (
        ReassignmentState.UNKNOWN,
        "there was no answer, and the ongoing target is 4",
    )


def test_the_overriding_request_is_reported() -> None:
    other = status_of(requested(), ongoing=moving(4), partition=seen(4, 1, 2))
    assert (other.state, other.detail) == (ReassignmentState.OVERRIDDEN, "by another client, to 4")
    assert [one.broker for one in other.receiving] == [3]
    later = Request(5, 0, 60, (requested(wanted=(4,)),))
    ours = status_of(requested(), ongoing=moving(4), partition=seen(4, 1, 2), later=later)
    assert ours.detail == "by request 5"


def test_a_cancellation_without_an_answer_is_seen_by_its_replicas() -> None:
    one = RequestedPartition("t", 0, (2, 3), (1, 2), 0, cancel_asked=True)
    assert status_of(one, partition=seen(1, 2)).state is ReassignmentState.CANCELLED
    assert status_of(one, partition=seen(2, 3)).state is ReassignmentState.COMPLETE
    assert status_of(one, partition=seen(9, 3)).state is ReassignmentState.ERROR


BROKERS = st.lists(st.integers(1, 5), min_size=1, max_size=4, unique=True).map(tuple)


@given(
    wanted=BROKERS,
    before=st.one_of(st.just(()), BROKERS),
    code=st.sampled_from([None, 0, 7]),
    target=st.none() | BROKERS,
    replicas=st.none() | BROKERS,
    leader=st.integers(-1, 5),
    empty=st.sets(st.integers(1, 5)),
    sizes=st.dictionaries(st.integers(1, 5), st.integers(0, 2**62), max_size=5),
    settled=st.booleans(),
)
def test_whatever_is_seen_nothing_is_divided_by_nought(
    *,
    wanted: tuple[int, ...],
    before: tuple[int, ...],
    code: int | None,
    target: tuple[int, ...] | None,
    replicas: tuple[int, ...] | None,
    leader: int,
    empty: set[int],
    sizes: dict[int, int],
    settled: bool,
) -> None:
    status = status_of(
        requested(wanted, before, code),
        ongoing=None if target is None else moving(*target, before=before),
        partition=None if replicas is None else seen(*replicas, leader=leader),
        sizes={broker: {} for broker in empty} | {broker: {P0: n} for broker, n in sizes.items()},
        settled=settled,
    )
    for one in status.receiving:
        assert one.broker in wanted
        assert one.numerator is None or one.numerator >= 0
        assert one.denominator is None or one.denominator > 0
        assert one.percentage is None or 0 <= one.percentage <= 100
    if code == 0 and target is None and settled:
        assert status.state in FINISHED
    if target is not None and set(target) == set(wanted):
        assert status.state is ReassignmentState.ONGOING


def made(*asking: tuple[RequestedPartition, ...]) -> Requests:
    requests = Requests()
    for one in asking:
        requests, _ = opened(requests, one, None, 100, 60)
    return requests


def states(requests: Requests) -> list[list[ReassignmentState | None]]:
    return [[one.ended.state if one.ended else None for one in r.partitions] for r in requests.requests]


def test_numbers_only_rise() -> None:
    requests = made((requested(),), (requested(),))
    assert [one.id for one in requests.requests] == [1, 2]
    empty = remembered(concluded(requests, 2, [], 0), 10**9)
    assert [one.id for one in empty.requests] == [1]
    again, third = opened(empty, (requested(),), None, 0)
    assert (third.id, again.next_id) == (3, 4)


def test_an_answer_overrides_what_was_begun_before_and_nothing_else() -> None:
    other = RequestedPartition("t", 1, (2,), (1,), 0)
    requests = answered(made((requested(), other), (requested(code=None),)), 2, ACCEPTED)
    assert states(requests) == [[ReassignmentState.OVERRIDDEN, None], [None]]
    assert requests.requests[0].partitions[0].ended == PartitionStatus(
        "t", 0, ReassignmentState.OVERRIDDEN, "by request 2", ()
    )
    assert holder(requests, P0) == 2
    assert states(answered(requests, 1, ACCEPTED))[1] == [None]


def test_a_refusal_overrides_nothing() -> None:
    no = ReassignmentAnswer(0, None, (ReassignmentResult("t", 0, 39, "no such broker"),))
    requests = answered(made((requested(),), (requested(code=None),)), 2, no)
    assert states(requests) == [[None], [ReassignmentState.REFUSED]]
    assert requests.requests[1].partitions[0].ended is not None
    assert requests.requests[1].partitions[0].ended.detail == (
        "INVALID_REPLICA_ASSIGNMENT (39) no such broker"
    )
    assert (holder(requests, P0), holder(requests, P1)) == (1, None)


@pytest.mark.parametrize(("code", "state"), [(31, ReassignmentState.REFUSED), (7, None), (-1, None)])
def test_a_refusal_of_all_counts_for_each(code: int, state: ReassignmentState | None) -> None:
    requests = answered(made((requested(code=None),)), 1, ReassignmentAnswer(code, None, ()))
    assert states(requests) == [[state]]
    assert requests.requests[0].partitions[0].code == code


def test_a_partition_that_the_answer_leaves_out_stays_unknown() -> None:
    requests = answered(made((requested(code=None),)), 1, ReassignmentAnswer(0, None, ()))
    assert requests.requests[0].partitions[0].is_uncertain


def test_what_was_never_sent_is_refused() -> None:
    requests = abandoned(made((requested(),), (requested(),)), 1, "no throttle")
    assert states(requests) == [[ReassignmentState.REFUSED], [None]]


def test_a_cancellation_counts_where_it_was_answered_with_0() -> None:
    other = RequestedPartition("t", 1, (2,), (1,), 0)
    requests = cancelling(made((requested(), other), (requested(),)), 1, [P0])
    assert [one.cancel_asked for one in requests.requests[0].partitions] == [True, False]
    answer = ReassignmentAnswer(
        0, None, (ReassignmentResult("t", 0, 0, None), ReassignmentResult("t", 1, 85, None))
    )
    assert states(cancelled(requests, 1, answer)) == [[ReassignmentState.CANCELLED, None], [None]]
    assert states(cancelled(requests, 1, ReassignmentAnswer(41, None, answer.results)))[0] == [None, None]


def test_what_ended_is_kept_for_its_time() -> None:
    done = PartitionStatus("t", 0, ReassignmentState.COMPLETE, "", (Received(3, 5, 5),))
    requests = concluded(made((requested(),)), 1, [done], 1000)
    assert requests.requests[0].partitions[0].ended == done
    assert remembered(requests, 1059) == requests
    assert remembered(requests, 1060).requests == ()
    later = concluded(requests, 1, [done], 1030)
    assert later.requests[0].finished_at_s == 1000


def test_an_error_is_looked_at_anew_and_what_goes_on_is_never_forgotten() -> None:
    error = PartitionStatus("t", 0, ReassignmentState.ERROR, "", ())
    requests = concluded(made((requested(),)), 1, [error], 1000)
    assert (states(requests), requests.requests[0].finished_at_s) == ([[None]], 1000)
    again = PartitionStatus("t", 0, ReassignmentState.ONGOING, "", ())
    requests = concluded(requests, 1, [again], 1010)
    assert requests.requests[0].finished_at_s is None
    assert remembered(requests, 10**9) == requests


def test_limits_that_stand_keep_their_request() -> None:
    requests, _ = opened(Requests(), (requested(),), LIMIT, 0, 60)
    requests = concluded(requests, 1, [], 1000)
    assert remembered(requests, 10**9) == requests
    assert remembered(freed(requests, 1), 10**9).requests == ()


def test_a_request_is_found_by_number_and_the_newest_without() -> None:
    requests = made((requested(),), (requested(),))
    assert [find(requests, n).id for n in (None, 1, 2)] == [2, 1, 2]
    with pytest.raises(UsageError) as unknown:
        find(requests, 7)
    assert (unknown.value.got, unknown.value.expected, unknown.value.where) == (
        "--request 7",
        "one of 1, 2",
        "",
    )
    with pytest.raises(UsageError) as forgotten:
        find(Requests(1, 5, ()), 3)
    assert "was removed" in forgotten.value.where
    with pytest.raises(UsageError) as none:
        find(Requests(), None)
    assert none.value.got == "no request was made"


def test_the_file_holds_what_was_written(tmp_path: Path) -> None:
    file = RequestFile(tmp_path / "new" / "r.json")
    assert file.read() == Requests()
    request = file.update(lambda now: opened(now, (requested(),), LIMIT, 5))
    assert file.read().requests == (request,)
    assert not list((tmp_path / "new").glob(".r.json*"))


def test_requests_made_at_once_have_numbers_of_their_own(tmp_path: Path) -> None:
    def make(_: int) -> int:
        made = RequestFile(tmp_path / "r.json").update(lambda now: opened(now, (requested(),), None, 5))
        return made.id

    with ThreadPoolExecutor(max_workers=4) as pool:
        numbers = list(pool.map(make, range(20)))
    assert sorted(numbers) == list(range(1, 21))


def test_a_damaged_file_is_reported_and_not_changed(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('{"next_id":')
    with pytest.raises(KrucibleError, match="the file of requests is damaged"):
        RequestFile(tmp_path / "r.json").update(lambda now: (now, None))
    assert (tmp_path / "r.json").read_text() == '{"next_id":'


def test_a_change_that_fails_changes_nothing(tmp_path: Path) -> None:
    file = RequestFile(tmp_path / "r.json")
    file.update(lambda now: opened(now, (requested(),), None, 5))
    with pytest.raises(ZeroDivisionError):
        file.update(lambda now: (now, 1 // 0))
    assert len(file.read().requests) == 1


def test_requests_lie_with_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert place_of(tmp_path, "x") == tmp_path / "reassignments.json"
    monkeypatch.setenv("XDG_STATE_HOME", "/s")
    assert place_of(None, "a/b") == Path("/s/krucible/a%2Fb.json")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert place_of(None, "id") == Path("/h/.local/state/krucible/id.json")
