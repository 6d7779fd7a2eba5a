"""Answers of the quorum's leaders, and votes: the quorum-state files of the nodes."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.looking import SECOND_NS
from tests.mutations.suite import VALID, invalid, mutation

RUNS = ("chaos", "smoke", "txn", "voters", "groups", "metadata")
VOTED = ("chaos", "smoke", "txn", "groups", "metadata")


def leaders(edit: Edit) -> list[Operation]:
    """Answers of leaders that know their high watermark and more than one voter."""
    return [
        o
        for o in edit.original.observed("quorum")
        if o.value["answer"] == "leader" and o.value["high_watermark"] > 0 and len(o.value["voters"]) > 2
    ]


def _of(value: dict[str, Any], voter: int) -> list[Any]:
    found: list[Any] = next(v for v in value["voters"] if v[0] == voter)
    return found


def _follower(value: dict[str, Any]) -> list[Any]:
    found: list[Any] = next(v for v in value["voters"] if v[0] != value["leader_id"] and v[2] > 0)
    return found


@mutation("quorum", invalid("high-watermark-unfounded", "high-watermark-beyond-log"), RUNS, 3)
def high_watermark_above_the_leaders_end(edit: Edit) -> None:
    """A leader reports a high watermark above the end of its own log."""
    answer = edit.chosen(leaders(edit))
    edit.change(answer.index, lambda v: v.update(high_watermark=_of(v, v["leader_id"])[2] + 7))


@mutation("quorum", invalid("high-watermark-unfounded", "hw-regression"), RUNS, 3)
def high_watermark_above_a_majority(edit: Edit) -> None:
    """A leader reports a high watermark that no follower had fetched, then or shortly after."""
    answer = edit.chosen(leaders(edit))

    def change(value: dict[str, Any]) -> None:
        most = max(voter[2] for voter in value["voters"])
        value["high_watermark"] = _of(value, value["leader_id"])[2] = most + 12

    edit.change(answer.index, change)


@mutation("quorum", invalid("follower-beyond-leader"), RUNS, 2)
def a_follower_beyond_the_leader(edit: Edit) -> None:
    """A leader reports a voter whose log ends after its own."""
    answer = edit.chosen(leaders(edit))

    def change(value: dict[str, Any]) -> None:
        _follower(value)[2] = _of(value, value["leader_id"])[2] + 7

    edit.change(answer.index, change)


@mutation("quorum", invalid("voter-end-regression"), VOTED, 2)
def a_voters_end_goes_back(edit: Edit) -> None:
    """In a later epoch a leader reports that a voter's log ends far below what it had in an earlier one."""
    history = edit.original
    first = min(o.value["leader_epoch"] for o in leaders(edit))
    wiped = {
        t for o in history.of("inject") if o.value["kind"] == "wipe-disk" for t in o.value.get("targets", ())
    }
    names = {n["id"]: n["name"] for o in history.of("setup") for n in o.value["nodes"]}
    had = {
        v[0]
        for o in leaders(edit)
        if o.value["leader_epoch"] == first
        for v in o.value["voters"]
        if v[2] > 40
    }
    places = [
        (o, voter[0])
        for o in leaders(edit)
        if o.value["leader_epoch"] > first
        for voter in o.value["voters"]
        if voter[0] in had
        and voter[0] != o.value["leader_id"]
        and voter[2] > 0
        and names[voter[0]] not in wiped
    ]
    answer, who = edit.chosen(places)

    def change(value: dict[str, Any]) -> None:
        _of(value, who)[2] = 3

    for o in leaders(edit):
        if o.index >= answer.index and o.value["leader_epoch"] == answer.value["leader_epoch"]:
            edit.change(o.index, change)


@mutation("quorum", invalid("two-leaders"), RUNS, 3)
def another_leader_of_the_epoch(edit: Edit) -> None:
    """Another node answers as leader in an epoch that has one."""
    answer = edit.chosen(leaders(edit))
    names = {n["id"]: n["name"] for o in edit.original.of("setup") for n in o.value["nodes"]}
    other = _follower(answer.value)[0]
    edit.add(
        answer,
        answer.time_ns + 1000,
        process=f"observer-quorum-{names[other]}",
        node=names[other],
        value=answer.value | {"leader_id": other},
    )


@mutation("quorum", invalid("zombie-leader"), RUNS, 1)
def a_leader_that_is_no_voter_goes_on(edit: Edit) -> None:
    """For long a leader reports that it is no longer a voter, and that this is committed."""
    by_epoch = Counter(o.value["leader_epoch"] for o in leaders(edit))
    epoch = by_epoch.most_common(1)[0][0]
    for o in leaders(edit):
        if o.value["leader_epoch"] == epoch:
            edit.change(o.index, _leader_outside)


def _leader_outside(value: dict[str, Any]) -> None:
    itself = _of(value, value["leader_id"])
    value["voters"] = [voter for voter in value["voters"] if voter is not itself]
    value.setdefault("observers", []).append([*itself[:2], value["high_watermark"], -1, -1])


@mutation("quorum", invalid("hw-regression"), RUNS, 2)
def high_watermark_goes_back(edit: Edit) -> None:
    """A leader's high watermark is lower than the one that it reported before in the same epoch."""
    faults = [o.time_ns for f in ("inject", "heal") for o in edit.original.of(f)]
    first_ns, last_ns = min(faults), max(faults)
    places = [
        o
        for before, o in pairwise(leaders(edit))
        if not first_ns < o.time_ns < last_ns
        and before.value["leader_epoch"] == o.value["leader_epoch"]
        and before.value["high_watermark"] > o.value["high_watermark"] - 5
    ]
    answer = edit.chosen(places)
    edit.change(answer.index, lambda value: value.update(high_watermark=value["high_watermark"] - 15))


@mutation("quorum", invalid("voter-unexplained", "voter-change-not-single", "broker-as-voter"), RUNS, 2)
def a_voter_that_nobody_added(edit: Edit) -> None:
    """A leader reports a voter that is in no set of voters, and whose addition nobody requested."""
    answer = edit.chosen(leaders(edit))
    for o in leaders(edit):
        if o.index >= answer.index:
            edit.change(o.index, _one_voter_more)


def _one_voter_more(value: dict[str, Any]) -> None:
    value["voters"].append([909, "AbCdEfGhIjKlMnOpQrStUw", value["high_watermark"], -1, -1])


@mutation("quorum", VALID, RUNS, 2)
def an_answer_is_told_twice(edit: Edit) -> None:
    """A leader gives the same answer again a moment later."""
    answer = edit.chosen(leaders(edit))
    edit.add(answer, answer.time_ns + 1000)


@mutation("quorum", VALID, RUNS, 2)
def an_answer_comes_late(edit: Edit) -> None:
    """A leader's answer takes a little longer to arrive."""
    answers = edit.original.observed("quorum")
    after = {o.process: o.time_ns for o in answers}
    places = []
    for o in reversed(answers):
        if o.value["answer"] == "leader" and after[o.process] - o.time_ns > 10_000:
            places.append((o, (after[o.process] - o.time_ns) // 2))
        after[o.process] = o.time_ns
    answer, late_ns = edit.chosen(places)
    edit.set(answer.index, time_ns=answer.time_ns + min(late_ns, SECOND_NS // 10))


@mutation("quorum", VALID, RUNS, 1)
def one_answer_is_an_error(edit: Edit) -> None:
    """One of many answers of a leader is an error."""
    answer = edit.chosen(leaders(edit)[3:-3])
    edit.set(answer.index, value={"began_ns": answer.value["began_ns"], "answer": "error"})


def states(edit: Edit, wanted: Callable[[dict[str, Any]], bool]) -> list[Operation]:
    """Quorum-state files that are as wanted."""
    return [o for o in edit.original.observed("quorum-state") if wanted(o.value)]


@mutation("votes", invalid("double-vote"), VOTED, 3)
def two_votes_in_one_epoch(edit: Edit) -> None:
    """A voter that voted for one candidate of an epoch has a vote for another one on its disk."""
    seen = edit.chosen(states(edit, lambda v: v["voted_id"] is not None and v["voted_id"] >= 0))
    ids = sorted(
        n["id"] for o in edit.original.of("setup") for n in o.value["nodes"] if "controller" in n["roles"]
    )
    other = next(i for i in ids if i != seen.value["voted_id"])
    value = seen.value | {"voted_id": other, "voted_directory_id": "AbCdEfGhIjKlMnOpQrStUw"}
    edit.add(seen, seen.time_ns + 1000, value=value)


@mutation("votes", invalid("epoch-regression"), VOTED, 3)
def the_epoch_of_a_voter_goes_back(edit: Edit) -> None:
    """A voter's file has a lower epoch than before."""
    seen = edit.chosen(states(edit, lambda v: v["leader_epoch"] > 1))
    edit.add(seen, seen.time_ns + 1000, value=seen.value | {"leader_epoch": seen.value["leader_epoch"] - 1})


@mutation("votes", invalid("two-leaders"), RUNS, 2)
def another_leader_in_a_file(edit: Edit) -> None:
    """A node's file has another leader of an epoch than the other nodes' files."""
    history = edit.original
    seen = edit.chosen(states(edit, lambda v: v["leader_id"] >= 0))
    ids = [n["id"] for o in history.of("setup") for n in o.value["nodes"] if "controller" in n["roles"]]
    other = next(i for i in ids if i != seen.value["leader_id"])
    edit.change(seen.index, lambda value: value.update(leader_id=other))


@mutation("votes", invalid("directory-id-changed"), RUNS, 2)
def a_directory_has_another_id(edit: Edit) -> None:
    """A node's directory has another id than before, and nobody replaced its disk."""
    history = edit.original
    wiped = {t for o in history.of("inject") for t in (o.value or {}).get("targets", ())}
    seen = edit.chosen(o for o in history.observed("quorum-state")[20:] if o.node not in wiped)
    edit.change(seen.index, lambda value: value.update(directory_id="AbCdEfGhIjKlMnOpQrStUw"))


@mutation("votes", invalid("cluster-id-changed"), RUNS, 2)
def a_cluster_has_another_id(edit: Edit) -> None:
    """A node's file has another cluster id than before."""
    seen = edit.chosen(states(edit, lambda v: v.get("cluster_id") is not None))
    edit.change(seen.index, lambda value: value.update(cluster_id="AbCdEfGhIjKlMnOpQrStUw"))


@mutation("votes", VALID, RUNS, 2)
def a_file_is_read_again(edit: Edit) -> None:
    """A node's file is read a second time, and is the same."""
    seen = edit.chosen(edit.original.observed("quorum-state"))
    edit.add(seen, seen.time_ns + 1000)


@mutation("votes", VALID, RUNS, 1)
def a_file_is_not_read_once(edit: Edit) -> None:
    """A node's file that had not changed was not read one time."""
    found = edit.original.observed("quorum-state")
    same = [o for before, o in pairwise(found) if before.value | o.value == before.value] or found[5:-5]
    edit.drop(edit.chosen(same).index)
