"""What a result may state if journals are missing: some findings stay, the rest is unknown.

A rule *looks at* what some sources recorded: where one of them is lacking, it may miss what it should find.
A rule *rests on* a source where it takes what is not recorded there for what did not happen: nobody sent that
value, nobody killed that node, nobody asked for that election.  Where such a source is lacking, the rule
finds nothing.  Anything that was found beside stays.

The rules of a checker that are not named rest on nothing: what they find is in what is there.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from checkers.history.journals import RUNNER, missing_journals
from checkers.history.operations import History, once
from checkers.history.runner import OPENED
from checkers.history.setup import told_setup
from checkers.history.sources import Source, lacking_of
from checkers.verdict.verdict import Anomaly, CheckerResult, Validity

_PERMITTED = (Source.FAULTS, Source.ADMIN, Source.MOVES, Source.DISKS)
"""Where licences stand: faults, requests, what scripts configured, and elections in the metadata log."""
_NO_SETUP = "the runner's journal is lost, and with it the setup of the run"


_SURVIVAL = ("lost-write", "poll-skip", "int-poll-skip")
"""Rules by which a record has to be there."""
_NOT_DELETED = (
    "unseen",
    "client-disagreement",
    "listed-time-wrong",
    "short-replica",
    "replica-divergence",
    "offset-gap",
)
_DELETED = frozenset((*_SURVIVAL, *_NOT_DELETED))
"""Rules by which a record has to be there that nobody asked to delete."""
_DELETER = "deleter"
"""Role of who asks to delete records."""


class Needs(NamedTuple):
    """What the rules of one checker need.

    Attributes:
        looks_at: what they look at.
        rest_on: rule to what it rests on.
        all_rest_on: what every rule rests on.
        workloads: kinds of workloads that give it something to judge; every kind where there are none.
        of_workload: kind of workload to what rules rest on there, beside the rest.
    """

    looks_at: tuple[Source, ...]
    rest_on: Mapping[str, tuple[Source, ...]] = {}
    all_rest_on: tuple[Source, ...] = ()
    workloads: frozenset[str] = frozenset()
    of_workload: Mapping[str, Mapping[str, tuple[Source, ...]]] = {}


NEEDS: Mapping[str, Needs] = {
    "log": Needs(
        (Source.CLIENTS,),
        {"unseen": (Source.CLIENTS,)},
        _PERMITTED,
        # A record may go once a later one of its key is there, whoever sent that.
        of_workload={"compacted": dict.fromkeys(_SURVIVAL, (Source.CLIENTS,))},
    ),
    "listed-offsets": Needs(
        (Source.OFFSETS, Source.STARTS, Source.CLIENTS),
        {
            "stable-offset-ahead": (Source.CLIENTS,),
            "listed-start-ahead": (Source.CLIENTS,),
            "listed-start-behind": (Source.NODES,),
            "deleted-before-followers": (Source.CLIENTS, Source.NODES),
        },
        _PERMITTED,
    ),
    "transactions": Needs(
        (Source.CLIENTS,),
        dict.fromkeys(
            (
                "torn-transaction",
                "hanging-transaction",
                "zombie-accepted",
                "producer-epoch-given-again",
                "precommitted-read",
            ),
            _PERMITTED,
        ),
        workloads=frozenset({"txn", "copy", "scripted-transactions"}),
    ),
    "descriptions": Needs(
        (Source.CLIENTS,), all_rest_on=(Source.CLIENTS, *_PERMITTED), workloads=frozenset({"txn"})
    ),
    "copying": Needs(
        (Source.CLIENTS,),
        {
            "copy-lost": (Source.CLIENTS,),
            "copy-without-offsets": (Source.CLIENTS,),
            "committed-offset-unasked": (Source.CLIENTS,),
        },
        _PERMITTED,
        frozenset({"copy"}),
    ),
    "groups": Needs(
        (Source.CLIENTS,),
        {
            "undelivered": (Source.CLIENTS,),
            "committed-offset-lost": (Source.CLIENTS,),
            "premature-commit": (Source.CLIENTS,),
            "rebalance-stuck": (Source.CLIENTS,),
        },
        _PERMITTED,
        frozenset({"groups"}),
    ),
    "registers": Needs(
        (Source.CLIENTS,),
        {"stale-offset": (Source.QUORUM,)},
        _PERMITTED,
        frozenset({"offsets", "metadata"}),
    ),
    "erasures": Needs(
        (Source.CLIENTS,), all_rest_on=(Source.CLIENTS, *_PERMITTED), workloads=frozenset({"offsets"})
    ),
    "metadata": Needs(
        (Source.CLIENTS,),
        {
            "phantom-topic": (Source.CLIENTS,),
            "changed-topic-id": (Source.CLIENTS,),
            "topic-created-twice": (Source.CLIENTS, Source.FAULTS),
            "returned-topic-id": (Source.FAULTS, Source.NODES),
            "deleted-topic-read": (Source.CLIENTS,),
            "listed-against-log": (Source.DISKS,),
            "config-against-log": (Source.DISKS,),
            "lost-topic": (Source.CLIENTS, Source.FAULTS),
            "metadata-ack-lost": (Source.DISKS,),
            "metadata-ack-early": (Source.DISKS,),
            "high-watermark-unfounded": (Source.CLIENTS,),
            "acknowledged-topic-unknown": (Source.CLIENTS, Source.DISKS, Source.QUORUM),
        },
        (Source.FAULTS,),
        frozenset({"metadata"}),
    ),
    "quorum": Needs(
        (Source.QUORUM, Source.QUORUM_STATE, Source.FAULTS, Source.ADMIN),
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
        },
    ),
    "partitions": Needs(
        (
            Source.DISKS,
            Source.QUORUM,
            Source.CLIENTS,
            Source.PARTITIONS,
            Source.ENDS,
            Source.COMMITS,
            Source.FAULTS,
            Source.RUNNER,
        ),
        {
            "elr-beside-isr": (Source.MOVES,),
            "acked-below-min-isr": (Source.FAULTS, Source.MOVES),
            "replica-end-regression": (Source.FAULTS,),
            "high-watermark-beyond-member": (Source.FAULTS,),
            "acked-beyond-high-watermark": (Source.FAULTS,),
            "truncated-below-high-watermark": _PERMITTED,
            "unclean-broker-kept": (Source.FAULTS, Source.MOVES),
            "acked-without-member": (Source.FAULTS, Source.NODES),
            "read-without-member": (Source.FAULTS, Source.NODES),
            "committed-without-member": (Source.FAULTS, Source.NODES, Source.COMMITS),
            "commit-in-no-log": (*_PERMITTED, Source.CLIENTS, Source.COMMITS),
            "commit-compacted-away": (*_PERMITTED, Source.COMMITS),
            "commit-compacted-early": (*_PERMITTED, Source.COMMITS),
            "view-without-record": (Source.FAULTS,),
            "view-went-back": (Source.FAULTS, Source.NODES),
            "recovery-denied": (Source.PARTITIONS,),
            "leadership-kept": (Source.FAULTS, Source.NODES),
            "failed-directory-led": (
                Source.FAULTS,
                Source.NODES,
                Source.QUORUM,
                Source.PARTITIONS,
                Source.CLIENTS,
            ),
        },
    ),
    "elections": Needs((Source.ADMIN, Source.DISKS), {}, (Source.ADMIN, Source.FAULTS, Source.MOVES)),
    "reassignments": Needs(
        (Source.ADMIN, Source.DISKS, Source.REASSIGNMENTS),
        {"reassignment-without-record": (Source.FAULTS,)},
        (Source.ADMIN,),
    ),
    "recovery": Needs((Source.RUNNER,)),
    "replicas": Needs(
        (Source.DISKS, Source.RUNNER, Source.PARTITIONS),
        {
            "replica-divergence": (Source.PARTITIONS, Source.RUNNER),
            "short-replica": (Source.PARTITIONS, Source.RUNNER),
            "read-not-on-disk": _PERMITTED,
            "on-disk-not-read": (*_PERMITTED, Source.CLIENTS),
            "compacted-away": (*_PERMITTED, Source.CLIENTS),
            "compacted-early": (*_PERMITTED, Source.CLIENTS),
            "compacted-returned": _PERMITTED,
            "deleted-key-returned": (*_PERMITTED, Source.CLIENTS, Source.DISKS),
            "transaction-without-marker": (*_PERMITTED, Source.CLIENTS),
            "marker-against-answer": _PERMITTED,
            "markers-differ": _PERMITTED,
            "deleted-records-returned": (*_PERMITTED, Source.NODES),
            "deletion-not-kept": (*_PERMITTED, Source.NODES),
            "stray-replica": (Source.FAULTS, Source.NODES),
            "offset-gap": (Source.ADMIN, Source.FAULTS),
            "sequence-gap": (Source.FAULTS,),
            "producer-epoch-regression": (Source.FAULTS,),
            "epoch-note-contradicted": (Source.FAULTS, Source.PARTITIONS),
            "epoch-start-divergence": (Source.FAULTS, Source.PARTITIONS),
            "epoch-without-election": (Source.FAULTS, Source.DISKS),
        },
    ),
    "nodes": Needs((Source.NODES,), {"node-died": (Source.FAULTS,)}),
}
"""By the names of checkers; those that are not here need nothing, or say so themselves."""


class Hole(NamedTuple):
    """What is missing of a history.

    Attributes:
        missing: names of the journals that are lacking.
        workload: kind of the workload; None where the set-up itself is lost.
        deleters: those of them whose writers asked to delete records.
    """

    missing: frozenset[str]
    workload: str | None
    deleters: frozenset[str] = frozenset()

    def why(self, needs: Needs, rule: str) -> str | None:
        """Why nothing that a rule finds can be believed; None where all is there that it rests on."""
        if self.workload is None:
            return _NO_SETUP
        if self.deleters and rule in _DELETED:
            return f"the history lacks records of deletions ({', '.join(sorted(self.deleters))})"
        here = needs.of_workload.get(self.workload, {})
        return lacking_of(self.missing, *needs.all_rest_on, *needs.rest_on.get(rule, ()), *here.get(rule, ()))

    def unseen(self, needs: Needs) -> str | None:
        """Why a checker may have missed something; None where all is there that it looks at."""
        if self.workload is None:
            return _NO_SETUP
        idle = needs.workloads and self.workload not in needs.workloads
        return None if idle else lacking_of(self.missing, *needs.looks_at)


@once
def hole_of(history: History) -> Hole | None:
    """What is missing of a history; None where nothing is."""
    missing = missing_journals(history)
    if not missing:
        return None
    setups = history.of("setup")
    if not setups and RUNNER in missing:
        return Hole(missing, None)
    roles = {str(o.key): o.value.get("role") for o in history.of(OPENED) if isinstance(o.value, dict)}
    deleters = frozenset(name for name in missing if roles.get(name) == _DELETER)
    return Hole(missing, _kind_of(history), deleters)


def _kind_of(history: History) -> str:
    """Kind of the workload; ``log``, too, where the setup can't be read."""
    try:
        return told_setup(history).workload.kind
    except msgspec.ValidationError:
        return "log"


def withheld(result: CheckerResult, hole: Hole | None) -> CheckerResult:
    """What a checker may say: no anomaly that may be a hole, and what it can't decide.

    Args:
        result: what it says.
        hole: what is missing.
    """
    needs = NEEDS.get(result.checker)
    if needs is None or hole is None:
        return result
    doubts = dict.fromkeys(filter(None, [hole.unseen(needs)]))
    kept = []
    for anomaly in result.anomalies:
        why = hole.why(needs, anomaly.id) if anomaly.illegal else None
        if why is None:
            kept.append(anomaly)
        else:
            doubts[f"{anomaly.id} may only be a gap in the records: {why}"] = None
    return _told(result, tuple(kept), [*doubts]) if doubts else result


def _told(result: CheckerResult, kept: tuple[Anomaly, ...], doubts: list[str]) -> CheckerResult:
    """The result with those anomalies alone, and with some doubts."""
    certain = any(one.illegal for one in kept)
    told = result.unknown_because or ""
    reasons = [*(doubt for doubt in doubts if doubt not in told), *([told] if told else [])]
    counts = _counts(result, kept)
    return msgspec.structs.replace(
        result,
        validity=Validity.INVALID if certain else Validity.UNKNOWN,
        anomalies=kept,
        counts=counts,
        tallies=tuple(one for one in result.tallies if counts.get(one.id) == result.counts[one.id]),
        unknown_because=None if certain else "; ".join(reasons),
    )


def _counts(result: CheckerResult, kept: tuple[Anomaly, ...]) -> dict[str, int]:
    """Exact numbers where all examples were kept; of others as many as are left."""
    left = Counter(one.id for one in kept)
    before = Counter(one.id for one in result.anomalies)
    exact = {
        rule: number if left[rule] == before[rule] else left[rule] for rule, number in result.counts.items()
    }
    return {rule: number for rule, number in exact.items() if number}
