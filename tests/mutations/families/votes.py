"""Votes that controllers log: two in an epoch, one for a stale candidate, a leader without a majority."""

from functools import partial
from typing import Any

from checkers.history.operations import Operation
from checkers.kraft.quorum.votes import logs_of
from tests.mutations.edits import Edit, replaced
from tests.mutations.suite import VALID, invalid, mutation, unknown

RUNS = ("elections", "votes", "deletions")
GRANTING = ("elections", "deletions")
"""Runs in which voters grant votes to others at several places in epochs after the first."""
_STRANGER = "AbCdEfGhIjKlMnOpQrStUw"


def votes(edit: Edit, **wanted: Any) -> list[Operation]:
    """Lines about votes that have some values."""
    return [
        o
        for o in edit.original.observed("vote")
        if o.value["line"] is not None and all(o.value[name] == value for name, value in wanted.items())
    ]


def binding(edit: Edit) -> list[Operation]:
    """Votes that bind their voter."""
    return votes(edit, granted=True, pre_vote=False)


def to_others(edit: Edit, least_epoch: int = 2) -> list[Operation]:
    """Votes that bind, and tell where the log of the candidate ended."""
    return [
        o for o in binding(edit) if o.value["last_offset"] is not None and o.value["epoch"] >= least_epoch
    ]


def controllers(edit: Edit) -> dict[int, str]:
    """Names of the controllers by id."""
    nodes = next(iter(edit.original.of("setup"))).value["nodes"]
    return {node["id"]: node["name"] for node in nodes if "controller" in node["roles"]}


def _another(edit: Edit, vote: Operation) -> int:
    """A controller that is neither the candidate nor the voter."""
    names = controllers(edit)
    return next(i for i in names if i != vote.value["candidate_id"] and names[i] != vote.node)


def _again(edit: Edit, vote: Operation, **fields: Any) -> None:
    """Let the voter log one more line right behind a vote."""
    value = vote.value | {"line": vote.value["line"] + 1} | fields
    edit.add(vote, vote.time_ns + 1000, value=value)


@mutation("logged-votes", invalid("double-vote"), RUNS, 4)
def one_more_for_another_candidate(edit: Edit) -> None:
    """A voter grants its vote in an epoch in which it had granted it to another candidate."""
    vote = edit.chosen(binding(edit))
    other = _another(edit, vote)
    _again(
        edit, vote, candidate_id=other, candidate_directory_id=_STRANGER, last_epoch=900, last_offset=9_000
    )


@mutation("logged-votes", invalid("double-vote"), ("elections", "votes"), 2)
def what_was_refused_is_granted(edit: Edit) -> None:
    """A voter grants what it refused, because it had voted for itself in that epoch."""
    names = {name: i for i, name in controllers(edit).items()}
    own = {(o.node, o.value["epoch"]) for o in binding(edit) if names[str(o.node)] == o.value["candidate_id"]}
    refused = votes(edit, granted=False, pre_vote=False)
    vote = edit.chosen(o for o in refused if (o.node, o.value["epoch"]) in own)
    edit.change(vote.index, lambda value: value.update(granted=True))


@mutation("logged-votes", invalid("double-vote"), RUNS, 2)
def the_same_candidate_on_another_disk(edit: Edit) -> None:
    """A voter grants its vote to a node with its candidate's id and another disk: another voter."""
    _again(edit, edit.chosen(binding(edit)), candidate_directory_id=_STRANGER)


@mutation("logged-votes", invalid("stale-vote"), RUNS, 1)
def for_a_log_that_is_much_shorter(edit: Edit) -> None:
    """A voter grants its vote to a candidate whose log lacks most of what is committed."""
    vote = edit.chosen(_with_known_bounds(edit))
    edit.change(vote.index, lambda value: value.update(last_epoch=1, last_offset=5))


@mutation("logged-votes", invalid("stale-vote"), RUNS, 1)
def for_a_log_of_an_older_epoch(edit: Edit) -> None:
    """A voter grants its vote to a candidate whose long log ends in an epoch before what is committed."""
    vote = edit.chosen(_with_known_bounds(edit))
    edit.change(vote.index, lambda value: value.update(last_epoch=0, last_offset=9_000))


@mutation("logged-votes", invalid("stale-vote"), RUNS, 1)
def for_a_log_that_is_empty(edit: Edit) -> None:
    """A voter grants its vote to a candidate whose log is empty, long after the first election."""
    vote = edit.chosen(_with_known_bounds(edit))
    edit.change(vote.index, lambda value: value.update(last_epoch=0, last_offset=0))


def _with_known_bounds(edit: Edit) -> list[Operation]:
    """Votes for others of voters that a leader of an earlier epoch had reported to have fetched a lot."""
    ids = {name: i for i, name in controllers(edit).items()}
    had = {
        (voter[0], claim.value["leader_epoch"])
        for claim in edit.original.observed("quorum")
        if claim.value["answer"] == "leader" and claim.value["high_watermark"] > 20
        for voter in claim.value["voters"]
        if voter[2] > 20
    }
    return [
        o
        for o in to_others(edit)
        if any(voter == ids[str(o.node)] and epoch < o.value["epoch"] for voter, epoch in had)
    ]


def _elected(edit: Edit) -> Operation:
    chosen: Operation = edit.chosen(edit.original.observed("elected"))
    return chosen


@mutation("logged-votes", invalid("leader-without-majority"), RUNS, 2)
def by_its_own_vote_alone(edit: Edit) -> None:
    """A controller logs that it leads by its own vote, of three voters or more."""
    elected = _elected(edit)
    own = {name: i for i, name in controllers(edit).items()}[elected.node or ""]
    edit.change(elected.index, lambda value: value.update(granting=[own]))


@mutation("logged-votes", invalid("leader-without-majority"), RUNS, 2)
def by_half_of_the_voters(edit: Edit) -> None:
    """A controller logs that it leads by the votes of half of the voters, which is no majority."""
    elected = _elected(edit)

    def change(value: dict[str, Any]) -> None:
        more = [900 + n for n in range(2 * len(value["granting"]) - len(value["voters"]))]
        value["voters"] += more

    edit.change(elected.index, change)


def _granted_by(edit: Edit, elected: Operation) -> list[Operation]:
    """Votes by which a controller was elected, but for its own."""
    ids = {name: i for i, name in controllers(edit).items()}
    return [
        o
        for o in to_others(edit, 1)
        if o.value["epoch"] == elected.value["epoch"] and o.value["candidate_id"] == ids[elected.node or ""]
    ]


def _later_elections(edit: Edit) -> list[Operation]:
    """Elections after the first, in which all who voted logged that, and were just enough."""
    return [
        o
        for o in edit.original.observed("elected")
        if o.value["epoch"] > 1 and len(_granted_by(edit, o)) >= len(o.value["granting"]) - 1 > 0
    ]


@mutation("logged-votes", invalid("leader-without-majority"), RUNS, 1)
def a_vote_that_its_voter_never_gave(edit: Edit) -> None:
    """A controller counted votes that the complete logs of their voters do not have."""
    edit.drop(*[o.index for o in _granted_by(edit, edit.chosen(_later_elections(edit)))])


@mutation("logged-votes", invalid("leader-without-majority"), RUNS, 1)
def a_vote_that_was_refused(edit: Edit) -> None:
    """A controller counted votes that were refused, by the logs of the voters."""
    for vote in _granted_by(edit, edit.chosen(_later_elections(edit))):
        edit.change(vote.index, lambda value: value.update(granted=False))


@mutation("logged-votes", invalid("leader-without-majority"), RUNS, 1)
def a_vote_for_another_candidate(edit: Edit) -> None:
    """A controller counted votes that went to another candidate, by the logs of the voters."""
    for vote in _granted_by(edit, edit.chosen(_later_elections(edit))):
        other = _another(edit, vote)
        edit.change(vote.index, partial(replaced, candidate_id=other))


@mutation("logged-votes", invalid("leader-without-majority"), RUNS, 1)
def a_pre_vote_was_counted(edit: Edit) -> None:
    """A controller became the leader by pre-votes, which are no votes."""
    for vote in _granted_by(edit, edit.chosen(_later_elections(edit))):
        edit.change(vote.index, lambda value: value.update(pre_vote=True))


@mutation("logged-votes", invalid("leader-without-majority"), RUNS, 1)
def who_voted_is_not_told_and_nobody_did(edit: Edit) -> None:
    """An older version does not log who voted, and no voter's complete log has a vote."""
    elected = edit.chosen(_later_elections(edit))
    edit.change(elected.index, lambda value: value.update(granting=None))
    edit.drop(*[o.index for o in _granted_by(edit, elected)])


@mutation("logged-votes", VALID, RUNS, 1)
def who_voted_is_not_told(edit: Edit) -> None:
    """An older version does not log who voted, and the logs of a majority have their votes."""
    edit.change(edit.chosen(_later_elections(edit)).index, lambda value: value.update(granting=None))


@mutation("logged-votes", VALID, RUNS, 3)
def asked_again_granted_again(edit: Edit) -> None:
    """A voter is asked again by the candidate that has its vote, and grants it again."""
    _again(edit, edit.chosen(binding(edit)))


@mutation("logged-votes", VALID, RUNS, 3)
def pre_votes_for_two_candidates(edit: Edit) -> None:
    """A voter grants a pre-vote to another candidate than the one that has its vote."""
    vote = edit.chosen(binding(edit))
    _again(edit, vote, candidate_id=_another(edit, vote), candidate_directory_id=_STRANGER, pre_vote=True)


@mutation("logged-votes", VALID, RUNS, 3)
def another_candidate_is_refused(edit: Edit) -> None:
    """A voter refuses its vote to another candidate of the epoch."""
    vote = edit.chosen(binding(edit))
    _again(edit, vote, candidate_id=_another(edit, vote), candidate_directory_id=_STRANGER, granted=False)


@mutation("logged-votes", VALID, RUNS, 1)
def the_candidates_log_is_longer(edit: Edit) -> None:
    """A voter grants its vote to a candidate whose log is longer than any that it knows."""
    vote = edit.chosen(to_others(edit))
    edit.change(vote.index, lambda value: value.update(last_offset=value["last_offset"] + 3))


@mutation("logged-votes", VALID, RUNS, 1)
def a_refused_candidate_was_stale(edit: Edit) -> None:
    """A voter refuses its vote to a candidate with an empty log."""
    vote = edit.chosen(votes(edit, granted=False))
    edit.change(vote.index, lambda value: value.update(last_epoch=0, last_offset=0))


@mutation("logged-votes", VALID, RUNS, 1)
def disks_are_not_told(edit: Edit) -> None:
    """An older version does not log directory ids."""
    for o in votes(edit):
        edit.change(o.index, lambda value: value.update(directory_id=None, candidate_directory_id=None))


@mutation("logged-votes", VALID, ("elections", "votes"), 1)
def a_vote_that_the_winner_did_not_need(edit: Edit) -> None:
    """One more voter granted its vote, and the winner, which had enough, did not count it."""
    names = controllers(edit)
    voted = {(o.node, o.value["epoch"]) for o in binding(edit)}
    elected, idle = edit.chosen(
        (o, i)
        for o in edit.original.observed("elected")
        for i in o.value["voters"]
        if i not in o.value["granting"] and (names[i], o.value["epoch"]) not in voted
    )
    like = _granted_by(edit, elected)[0]
    edit.add(like, like.time_ns + 1000, node=names[idle], value=like.value | {"directory_id": None})
    _written_down(edit, like, names[idle])


def _written_down(edit: Edit, like: Operation, node: str) -> None:
    """Let the files of a node tell of a vote from then on until they tell of a later epoch."""
    voted_ns = next(vote.time_ns for vote in logs_of(edit.original).votes if vote.index == like.index)
    state = {"leader_epoch": like.value["epoch"], "voted_id": like.value["candidate_id"]}
    for o in edit.original.observed("quorum-state"):
        epoch = o.value["leader_epoch"] or 0
        known = epoch == state["leader_epoch"] and o.value["leader_id"] is not None
        if o.node == node and o.time_ns > voted_ns and epoch <= state["leader_epoch"] and not known:
            edit.change(o.index, lambda value: value.update(state | {"leader_id": None}))


@mutation("logged-votes", VALID, ("chaos",), 1)
def two_votes_on_two_disks(edit: Edit) -> None:
    """A voter voted for two candidates of an epoch, the second time with a new disk after a wipe."""
    wipe = next(
        o for o in edit.original.of("inject") if o.value["kind"] == "wipe-disk" and o.value.get("probe")
    )
    heal = next(o for o in edit.original.of("heal") if o.key == wipe.key and o.value.get("probe"))
    probe = heal.value["probe"]
    like = next(iter(edit.original.observed("node-log")))
    for time_ns, candidate, disk in (
        (wipe.time_ns - 5_000_000_000, 1, probe["directory_id_before"]),
        (heal.time_ns + 3_000_000_000, 2, probe["directory_id_after"]),
    ):
        value = {"line": 500 + candidate, "at": None, "epoch": 1, "candidate_id": candidate}
        value |= {"candidate_directory_id": None, "granted": True, "pre_vote": False}
        value |= {"last_epoch": None, "last_offset": None, "directory_id": disk}
        edit.add(like, time_ns, key="vote", node=wipe.value["targets"][0], value=value)
    for node in controllers(edit).values():
        edit.add(like, like.time_ns, key="vote", node=node, value={"line": None, "lines": 999, "further": 0})


@mutation("logged-votes", unknown("vote"), RUNS, 3)
def a_controllers_log_was_not_read(edit: Edit) -> None:
    """Nothing was recorded of one controller's log, although the logs of all others were read."""
    node = edit.chosen(sorted(controllers(edit).values()))
    edit.drop(*[o.index for f in ("vote", "elected") for o in edit.original.observed(f) if o.node == node])


@mutation("logged-votes", unknown("vote"), RUNS, 2)
def most_lines_were_left_out(edit: Edit) -> None:
    """Most entries about votes of one controller's log were left out, because there were too many."""
    ends = [o for o in edit.original.observed("vote") if o.value["line"] is None]
    names = set(controllers(edit).values())
    ending = edit.chosen(o for o in ends if o.node in names)
    edit.change(ending.index, lambda value: value.update(further=4_000))


@mutation("logged-votes", VALID, RUNS, 1)
def no_log_was_read_for_votes(edit: Edit) -> None:
    """Nothing was recorded of any node's votes, as in histories of earlier versions."""
    edit.drop(*[o.index for f in ("vote", "elected") for o in edit.original.observed(f)])


@mutation("logged-votes", invalid("candidate-without-majority"), RUNS, 2)
def nobody_would_vote_for_it(edit: Edit) -> None:
    """A controller becomes a candidate although only itself of three voters granted it a pre-vote."""
    _pre_votes(edit, 1)


@mutation("logged-votes", VALID, RUNS, 2)
def a_majority_would_vote_for_it(edit: Edit) -> None:
    """A controller becomes a candidate once it has the pre-votes of two of three voters."""
    _pre_votes(edit, 2)


def _pre_votes(edit: Edit, granting: int) -> None:
    own = [o for o in binding(edit) if o.value["last_offset"] is None]
    vote = edit.chosen(own)
    voters = sorted(controllers(edit), key=lambda i: i != vote.value["candidate_id"])[:3]
    line = {"pre_voters": voters, "pre_granting": voters[:granting]}
    edit.change(vote.index, lambda value: value.update(line))


@mutation("logged-votes", invalid("pre-vote-of-follower"), RUNS, 1)
def a_pre_vote_of_a_follower(edit: Edit) -> None:
    """A voter grants a pre-vote, and logs that it has followed a leader for long."""
    _followed(edit, 900_000)


@mutation("logged-votes", VALID, RUNS, 1)
def a_pre_vote_of_a_new_follower(edit: Edit) -> None:
    """A voter grants a pre-vote, and logs that it followed a leader for less than its fetch timeout."""
    _followed(edit, 1_900)


def _followed(edit: Edit, for_ms: int) -> None:
    vote = edit.chosen(to_others(edit, 1))
    line = {"pre_vote": True, "following_ms": for_ms, "fetch_timeout_ms": 2_000}
    _again(edit, vote, **line)


@mutation("logged-votes", invalid("vote-not-kept"), RUNS, 1)
def a_vote_is_in_no_file(edit: Edit) -> None:
    """The files that were read of a voter after its vote have no vote and no leader of that epoch."""
    _files(edit, lambda value: value.update(voted_id=None, voted_directory_id=None, leader_id=None))


@mutation("logged-votes", VALID, RUNS, 1)
def the_leader_is_in_the_file_alone(edit: Edit) -> None:
    """The files that were read of a voter after its vote have that epoch's leader, and no vote."""
    _files(edit, lambda value: value.update(voted_id=None, voted_directory_id=None))


def _files(edit: Edit, change: Any) -> None:
    """Change what a voter's files tell of the epoch of its last vote, to the end."""
    last = {o.node: o for o in binding(edit)}
    vote = edit.chosen(last.values())
    files = [o for o in edit.original.observed("quorum-state") if o.node == vote.node]
    for o in files:
        if o.value["leader_epoch"] == vote.value["epoch"]:
            edit.change(o.index, change)
