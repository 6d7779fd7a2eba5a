"""Judges the metadata quorum: leaders, epochs, votes and high watermarks, and who the voters are.

It uses views, which are intervals (see `views`), and never assumes an order between two views that overlap.
It also uses the requests to change the voters, the metadata logs of the nodes and the nodes' own logs.

1. ``two-leaders``, ``epoch-regression``, ``double-vote``, ``hw-regression``: an epoch has one leader, and
   epochs, votes and high watermarks do not go back (`rules`, `logged_leaders`).
2. ``zombie-leader``: a leader without a majority resigns in time (`zombie`).
3. ``high-watermark-unfounded``, ``follower-beyond-leader``, ``voter-end-regression``,
   ``two-uncommitted-voter-sets``: what leaders report of themselves and of the voters (`leader_answers`,
   `loaded`).
4. ``metadata-committed-lost``: committed records are in the log of every later leader, and at the end in the
   logs of a majority (`committed`, `kept_records`).
5. ``stale-vote``, ``leader-without-majority``: votes according to the nodes' own logs (`votes`).
6. ``candidate-without-majority``, ``vote-not-kept``, ``pre-vote-of-follower``, ``epoch-run-away``: pre-votes,
   and what they prevent (`candidates`, `run_away`).
7. ``voter-unexplained``, ``voter-change-not-single``: each change of the voters has a request (`explaining`).
8. ``removed-voter-acts``, ``broker-as-voter``, ``voter-lost``, ``voters-not-in-log``,
   ``candidate-not-voter``: who votes and leads (`removed_voters`, `membership`, `acting`, `non_voters`).
9. ``cluster-id-changed``, ``directory-id-changed``: a node keeps the ids of its disk (`identities`).

A disk that a fault emptied has lost its votes and records; rules that need these leave it out (`wipes`,
`lost_votes`).
"""

from collections.abc import Sequence
from typing import NamedTuple

from checkers.evidence.faults import FaultWindow, fault_windows
from checkers.evidence.kafka_versions import KafkaVersions, kafka_versions
from checkers.evidence.log_ends import loaded_logs
from checkers.history.operations import History
from checkers.history.replicas import METADATA_TOPIC
from checkers.history.setup import Setup, setup_of
from checkers.history.sources import Source
from checkers.kraft.quorum import candidates, figures, leader_answers, votes
from checkers.kraft.quorum.acting import (
    VOTERS_NOT_IN_LOG,
    compared_states,
    voters_not_in_logs,
)
from checkers.kraft.quorum.changes import VoterChange, dynamic_since_ns, voter_changes
from checkers.kraft.quorum.committed import METADATA_COMMITTED_LOST, committed_lost
from checkers.kraft.quorum.explaining import (
    VOTER_CHANGE_NOT_SINGLE,
    VOTER_UNEXPLAINED,
    Explained,
    automatic,
    changes_not_single,
    explain,
    joins_by_itself,
    resolved,
    unexplained_voters,
)
from checkers.kraft.quorum.identities import (
    CLUSTER_ID_CHANGED,
    DIRECTORY_ID_CHANGED,
    cluster_ids_changed,
    directory_ids_changed,
)
from checkers.kraft.quorum.kept_records import committed_gone, kept_logs
from checkers.kraft.quorum.leader_answers import Grounds, judge_answers
from checkers.kraft.quorum.loaded import ends_forgotten
from checkers.kraft.quorum.logged_leaders import two_leaders_logged
from checkers.kraft.quorum.lost_votes import REMEMBERED, Forgetting, forgetting_of
from checkers.kraft.quorum.membership import BROKER_AS_VOTER, VOTER_LOST, brokers_as_voters, lost_voters
from checkers.kraft.quorum.non_voters import CANDIDATE_NOT_VOTER, candidates_not_voters, new_disks
from checkers.kraft.quorum.removed_voters import REMOVED_VOTER_ACTS, acts_of_removed, removals
from checkers.kraft.quorum.rules import (
    DOUBLE_VOTE,
    EPOCH_REGRESSION,
    HW_REGRESSION,
    TWO_LEADERS,
    double_votes,
    epoch_regressions,
    hw_regressions,
    two_leaders,
)
from checkers.kraft.quorum.run_away import EPOCH_RUN_AWAY, rises, run_aways
from checkers.kraft.quorum.views import LeaderClaim, Views, views_of
from checkers.kraft.quorum.voter_sets import (
    Flip,
    VoterSet,
    flips_logged,
    logged_sets,
    reported_flips,
    reported_sets,
)
from checkers.kraft.quorum.votes import LEADER_WITHOUT_MAJORITY, STALE_VOTE
from checkers.kraft.quorum.watch import watched
from checkers.kraft.quorum.wipes import Wipes, wipes_of
from checkers.kraft.quorum.zombie import ZOMBIE_LEADER, span_bound_ms, stale_claims, stale_runs, zombies
from checkers.licences.disks import hits
from checkers.verdict.entry import Entry
from checkers.verdict.kinds import by_id
from checkers.verdict.needs import Needs
from checkers.verdict.verdict import Anomaly, Assumption, CheckerResult, result_of

CHECKER = "quorum"
ANOMALIES = by_id(
    TWO_LEADERS,
    ZOMBIE_LEADER,
    EPOCH_REGRESSION,
    DOUBLE_VOTE,
    HW_REGRESSION,
    CLUSTER_ID_CHANGED,
    DIRECTORY_ID_CHANGED,
    METADATA_COMMITTED_LOST,
    EPOCH_RUN_AWAY,
    VOTER_UNEXPLAINED,
    VOTER_CHANGE_NOT_SINGLE,
    REMOVED_VOTER_ACTS,
    BROKER_AS_VOTER,
    VOTER_LOST,
    *leader_answers.ANOMALIES.values(),
    *candidates.ANOMALIES.values(),
    STALE_VOTE,
    LEADER_WITHOUT_MAJORITY,
    VOTERS_NOT_IN_LOG,
    CANDIDATE_NOT_VOTER,
)
NEEDS = Needs(
    (
        Source.QUORUM,
        Source.QUORUM_STATE,
        Source.FAULTS,
        Source.ADMIN,
        Source.CONTROLLER_LOGS,
        Source.CONTROLLER_LOADS,
        Source.QUORUM_VIEWS,
    ),
    {
        "two-leaders": (Source.FAULTS,),
        "double-vote": (Source.FAULTS,),
        "epoch-regression": (Source.FAULTS,),
        "hw-regression": (Source.FAULTS,),
        "directory-id-changed": (Source.FAULTS,),
        "metadata-committed-lost": (Source.FAULTS,),
        "epoch-run-away": (Source.FAULTS, Source.ADMIN),
        "voter-unexplained": (Source.ADMIN,),
        "removed-voter-acts": (Source.ADMIN, Source.FAULTS),
        "broker-as-voter": (Source.ADMIN,),
        "voter-lost": (Source.FAULTS, Source.ADMIN),
        "zombie-leader": (Source.FAULTS, Source.ADMIN),
        "high-watermark-unfounded": (Source.FAULTS, Source.ADMIN),
        "voter-end-regression": (Source.FAULTS,),
        "follower-beyond-leader": (Source.FAULTS,),
        "stale-vote": (Source.FAULTS,),
        "leader-without-majority": (Source.RUNNER, Source.FAULTS),
        "vote-not-kept": (Source.FAULTS,),
        "pre-vote-of-follower": (Source.FAULTS,),
        "voters-not-in-log": (Source.FAULTS, Source.QUORUM_VIEWS),
        "candidate-not-voter": (Source.FAULTS, Source.ADMIN),
    },
)
"""The journals that the checker's rules need."""


def check_quorum(history: History) -> CheckerResult:
    """Judge the metadata quorum by its nodes' answers, files and logs.

    The result is unknown without a setup, or if no node answered as leader, or if no quorum-state file was
    read, because nothing was tested then.  It is also unknown if a controller did not answer for so long that
    a zombie could have been missed, or if it did not return.

    Raises:
        KeyError, msgspec.ValidationError: the history is not as docs/histories.md says.
    """
    views = views_of(history)
    windows = fault_windows(history)
    wipes = wipes_of(history, windows)
    setup = setup_of(history)
    forgetting = REMEMBERED if setup is None else _forgetting(history, setup, views, wipes)
    states = compared_states(history, _disk_faults(history))
    found = [
        *two_leaders(views, forgetting),
        *([] if forgetting.forgotten else two_leaders_logged(history)),
        *double_votes(views.files, wipes),
        *epoch_regressions(views.files, wipes),
        *hw_regressions(views.claims, windows),
        *cluster_ids_changed(views.files),
        *directory_ids_changed(views.files, windows),
        *voters_not_in_logs(states),
    ]
    if setup is None:
        return result_of(
            CHECKER, found, unknown_because="the history has no setup record, so the time limits are unknown"
        )
    judged = _judged(history, setup, views, windows, forgetting)
    return result_of(
        CHECKER,
        [*found, *judged.anomalies],
        assumptions=_assumptions(views) + judged.assumptions,
        figures=judged.figures | {"voter_states_judged": len(states)},
    )


def _forgetting(history: History, setup: Setup, views: Views, wipes: Wipes) -> Forgetting:
    return forgetting_of(views, wipes, setup, dynamic_since_ns(history, setup.features))


def _judged(
    history: History,
    setup: Setup,
    views: Views,
    windows: tuple[FaultWindow, ...],
    forgetting: Forgetting,
) -> CheckerResult:
    """Conclusions that need the set-up: which nodes there are, and how they are configured."""
    changes, versions = voter_changes(history), kafka_versions(history)
    dynamic_ns = dynamic_since_ns(history, setup.features)
    sets = _sets_of(history, views, changes, versions, dynamic_ns)
    removed = removals(changes, sets.records, views, versions)
    stale = stale_claims(views, setup.controller_fetch_timeout_ms, removed, forgetting)
    leading = [claim for claim in views.claims if claim.index not in stale]
    runs = stale_runs(views.claims, stale, windows)
    bound_ms = span_bound_ms(setup.controller_fetch_timeout_ms, setup.observe_interval_ms)
    over_cuts = rises(views, leading, windows, changes, setup)
    logs = votes.logs_of(history)
    disks = new_disks(history, forgetting.wipes.wipes, views.files)
    judged_votes = _judge_votes(history, setup, views, forgetting.wipes, logs)
    return result_of(
        CHECKER,
        [
            *zombies(runs, bound_ms),
            *unexplained_voters([*sets.by_views.unexplained, *sets.by_log.unexplained], changes),
            *changes_not_single(sets.records),
            *acts_of_removed(removed, views, setup),
            *brokers_as_voters([*sets.reported, *sets.logged], changes, setup, history),
            *lost_voters(history, leading, windows, setup),
            *run_aways(over_cuts, versions),
            *committed_lost(views.claims, forgetting.wipes, setup, dynamic_ns),
            *_answers(history, setup, views, changes, forgetting.wipes),
            *judged_votes.anomalies,
            *candidates_not_voters(logs.asked, disks, [*sets.reported, *sets.logged], changes, versions),
        ],
        assumptions=watched(history, setup, windows, bound_ms),
        figures={
            **figures.of_views(views, stale, runs),
            **leader_answers.figures(views.claims),
            "voter_logs_judged": len(kept_logs(history)),
            **judged_votes.figures,
            "zombie_span_bound_ms": bound_ms,
            **figures.of_voters(
                sets.reported,
                sets.logged,
                changes,
                resolved(changes, sets.by_log, has_log=bool(sets.logged)),
                over_cuts,
            ),
        },
    )


class _VoterSets(NamedTuple):
    """The voter sets of a run, and the requests that explain their changes.

    Attributes:
        reported: those that leaders reported.
        logged: those of the metadata log.
        records: the changes from each of the latter to the next.
        by_views: the requests that explain the changes of the reported ones.
        by_log: the requests that explain those of the log.
    """

    reported: list[VoterSet]
    logged: list[VoterSet]
    records: list[list[Flip]]
    by_views: Explained
    by_log: Explained


def _sets_of(
    history: History,
    views: Views,
    changes: Sequence[VoterChange],
    versions: KafkaVersions,
    dynamic_ns: int,
) -> _VoterSets:
    reported, logged = reported_sets(views.claims, dynamic_ns), logged_sets(history)
    records = flips_logged(logged)
    may_be = automatic(versions, views.files)
    by_views = explain(reported_flips(reported), changes, may_be)
    by_log = explain((flip for flips in records for flip in flips), changes, may_be)
    return _VoterSets(reported, logged, records, by_views, by_log)


class _Votes(NamedTuple):
    """The conclusions about votes."""

    anomalies: list[Anomaly]
    figures: dict[str, int]


def _judge_votes(history: History, setup: Setup, views: Views, wipes: Wipes, logs: votes.Logs) -> _Votes:
    """Judge the votes and pre-votes that nodes logged."""
    bounds = votes.bounds_of(logs, views.claims, setup, history)
    silencing = [window for window in fault_windows(history) if window.silences]
    found = [
        *votes.granted_twice(logs, (wipe.window for wipe in wipes.wipes)),
        *votes.stale_votes(bounds, wipes),
        *votes.without_majority(logs, setup),
        *candidates.candidates_without_pre_votes(logs, kafka_versions(history)),
        *candidates.pre_votes_of_followers(logs, silencing),
        *candidates.votes_unkept(logs, views.files, _metadata_disk_hits(history)),
    ]
    return _Votes(found, votes.figures(logs, bounds))


def _answers(
    history: History, setup: Setup, views: Views, changes: Sequence[VoterChange], wipes: Wipes
) -> list[Anomaly]:
    """Compare leaders' answers about logs with the logs that were read at the end of the run."""
    by_name = _metadata_disk_hits(history)
    dynamic_ns = dynamic_since_ns(history, setup.features)

    def disk_hit(voter: int, from_ns: int, to_ns: int) -> bool:
        return by_name(setup.controllers.get(voter, ""), from_ns, to_ns)

    def licence(claim: LeaderClaim, until_ns: int = 0) -> str | None:
        return wipes.licence(claim, views.claims, setup, dynamic_ns, until_ns)

    versions = kafka_versions(history)
    steady = not changes and not any(joins_by_itself(versions, voter) for voter in setup.controllers)
    return [
        *judge_answers(views.claims, Grounds(steady, disk_hit, licence), history),
        *committed_gone(views.claims, kept_logs(history), disk_hit, licence),
        *ends_forgotten(loaded_logs(history), views.claims, _disk_faults(history), licence, setup),
    ]


def _disk_faults(history: History) -> list[FaultWindow]:
    """The faults that hit disks with metadata logs."""
    return [window for window in fault_windows(history) if hits(history, window, METADATA_TOPIC)]


def _metadata_disk_hits(history: History) -> candidates.DiskHit:
    """Return a function that reports whether a fault may have hit a metadata log's disk between two times."""
    disk_faults = _disk_faults(history)

    def disk_hit(node: str, from_ns: int, to_ns: int) -> bool:
        return any(each.concerns(node) and each.overlaps(from_ns, to_ns) for each in disk_faults)

    return disk_hit


def _assumptions(views: Views) -> tuple[Assumption, ...]:
    return (
        _seen("leader-views", len(views.claims), "answers of a node as leader of the quorum"),
        _seen("quorum-state-views", len(views.files), "readings of quorum-state files"),
    )


def _seen(name: str, count: int, what: str) -> Assumption:
    return Assumption(name=name, met=count > 0, expected=f"at least 1 of: {what}", observed=str(count))


ENTRY = Entry(CHECKER, check_quorum, ANOMALIES, NEEDS)
