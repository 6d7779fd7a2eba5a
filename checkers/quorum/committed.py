"""What is committed stays: no later leader's log ends below it, and the cluster keeps its id."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from checkers.faults import FaultWindow
from checkers.history import History
from checkers.kinds import AnomalyKind
from checkers.quorum.views import NONE, LeaderClaim, StateFile
from checkers.replicas.observed import METADATA_TOPIC
from checkers.setup import Setup
from checkers.verdict import Anomaly

METADATA_COMMITTED_LOST = AnomalyKind(
    id="metadata-committed-lost",
    meaning="A leader's metadata log ended below what a leader of an earlier epoch had committed.",
    guarantee="Every later leader has all that was committed, while a majority of voters keeps its disks.",
    source="KIP-595; Raft (Ongaro and Ousterhout 2014), Leader Completeness",
)
CLUSTER_ID_CHANGED = AnomalyKind(
    id="cluster-id-changed",
    meaning="A node's disk came to belong to another cluster.",
    guarantee="The id that a cluster is formatted with is its id for good.",
    source="KIP-78; KIP-595, Cluster Id",
)
WIPE = "wipe-disk"


def committed_lost(
    history: History,
    claims: Iterable[LeaderClaim],
    windows: Iterable[FaultWindow],
    setup: Setup,
    dynamic_since_ns: int,
) -> list[Anomaly]:
    """The first leader whose log is too short, for every epoch with one."""
    wipes = [window for window in windows if window.kind == WIPE and _reaches_metadata(history, window)]
    highest: LeaderClaim | None = None
    newest: LeaderClaim | None = None
    found: dict[int, Anomaly] = {}
    for claim in sorted(claims, key=lambda claim: (claim.epoch, claim.time_ns, claim.index)):
        if newest is not None and newest.epoch < claim.epoch:
            highest = max((c for c in (highest, newest) if c is not None), key=lambda c: c.high_watermark)
            newest = None
        if newest is None or claim.high_watermark > newest.high_watermark:
            newest = claim
        end = claim.high_watermark if claim.leader_end == NONE else claim.leader_end
        if highest is not None and NONE < end < highest.high_watermark and claim.epoch not in found:
            licence = _licence(history, wipes, claim, setup, dynamic_since_ns)
            found[claim.epoch] = _lost(highest, claim, end, licence)
    return list(found.values())


def _lost(earlier: LeaderClaim, claim: LeaderClaim, end: int, licence: str | None) -> Anomaly:
    anomaly = METADATA_COMMITTED_LOST.found(
        f"{claim.node}, leader of epoch {claim.epoch}, has a log that ends at {end}; up to"
        f" {earlier.high_watermark} had been committed in epoch {earlier.epoch}.",
        subject=f"epoch {claim.epoch}",
        time_ns=claim.time_ns,
        witness=(earlier.index, claim.index),
        explanation=tuple(
            f"At {c.time_ns / 1e9:.3f} s {c.node} led epoch {c.epoch}: high watermark {c.high_watermark},"
            f" log end {c.leader_end}."
            for c in (earlier, claim)
        ),
    )
    return msgspec.structs.replace(anomaly, illegal=licence is None, licence=licence)


def _licence(
    history: History,
    wipes: Sequence[FaultWindow],
    claim: LeaderClaim,
    setup: Setup,
    dynamic_since_ns: int,
) -> str | None:
    """Why committed records may be gone: disks of voters were, and too many or such as kept their vote.

    A wiped disk that comes back under its old identity, or under any in a static quorum, votes with an empty
    log, so that one of them can undo a majority.  One with a new identity has no vote.
    """
    names = set(setup.controllers.values())
    before = [wipe for wipe in wipes if wipe.invoked_ns <= claim.time_ns]
    gone = {node for wipe in before for node in (set(wipe.targets) or names)} & names
    kept = any(_keeps_its_vote(history, wipe) or wipe.invoked_ns < dynamic_since_ns for wipe in before)
    if gone and (kept or 2 * len(gone) > len(claim.voters)):
        return f"the disks of {', '.join(sorted(gone))} had been wiped"
    return None


def _reaches_metadata(history: History, wipe: FaultWindow) -> bool:
    """Whether it may have removed the metadata log; not where it was to remove one other topic."""
    topic = (history.operations[wipe.operations[0]].value.get("spec") or {}).get("topic")
    return topic in (None, METADATA_TOPIC)


def _keeps_its_vote(history: History, wipe: FaultWindow) -> bool:
    """Whether the disk has, or for all that was recorded may have, the identity that it had before."""
    probes: list[dict[str, Any]] = [
        probe for index in wipe.operations if (probe := (history.operations[index].value or {}).get("probe"))
    ]
    identities = [(p.get("directory_id_before"), p.get("directory_id_after")) for p in probes]
    return not any(before and after and before != after for before, after in identities)


def cluster_ids_changed(files: Iterable[StateFile]) -> list[Anomaly]:
    """For each node the first disk of another cluster than the first that was seen at all."""
    ordered = sorted((f for f in files if f.cluster_id), key=lambda file: (file.time_ns, file.index))
    found: dict[str, Anomaly] = {}
    for file in ordered:
        first = ordered[0]
        if file.cluster_id != first.cluster_id and file.node not in found:
            found[file.node] = CLUSTER_ID_CHANGED.found(
                f"The disk of {file.node} belongs to cluster {file.cluster_id}, not {first.cluster_id}.",
                subject=file.node,
                time_ns=file.time_ns,
                witness=(first.index, file.index),
                explanation=tuple(
                    f"At {f.time_ns / 1e9:.3f} s meta.properties of {f.node} had cluster id {f.cluster_id}."
                    for f in (first, file)
                ),
            )
    return list(found.values())
