"""Committed records are kept: no later leader's log ends below them (`kept_records`: the end of the run)."""

from collections.abc import Sequence

import msgspec

from checkers.history.setup import Setup
from checkers.kraft.quorum.views import NONE, LeaderClaim
from checkers.kraft.quorum.wipes import Wipes
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

METADATA_COMMITTED_LOST = AnomalyKind(
    id="metadata-committed-lost",
    meaning="The metadata log of a later leader, or at the end the logs of a majority, lacked "
    "committed records.",
    guarantee="Every later leader has all committed records, as long as a majority of voters keeps "
    "its disks.",
    source="KIP-595; Raft (Ongaro and Ousterhout 2014), Leader Completeness",
)


def committed_lost(
    claims: Sequence[LeaderClaim], wipes: Wipes, setup: Setup, dynamic_since_ns: int
) -> list[Anomaly]:
    """The first leader of every epoch whose log is too short, if there is one."""
    highest: LeaderClaim | None = None
    newest: LeaderClaim | None = None
    found: dict[int, Anomaly] = {}
    for claim in sorted(claims, key=lambda claim: (claim.epoch, claim.time_ns, claim.index)):
        if newest is not None and newest.epoch < claim.epoch:
            highest = max((c for c in (highest, newest) if c is not None), key=lambda c: c.high_watermark)
            newest = None
        if newest is None or claim.high_watermark > newest.high_watermark:
            newest = claim
        end = claim.high_watermark if claim.end_offset == NONE else claim.end_offset
        if highest is not None and NONE < end < highest.high_watermark and claim.epoch not in found:
            licence = wipes.licence(claim, claims, setup, dynamic_since_ns, highest.time_ns)
            found[claim.epoch] = _lost(highest, claim, end, licence)
    return list(found.values())


def _lost(earlier: LeaderClaim, claim: LeaderClaim, end: int, licence: str | None) -> Anomaly:
    anomaly = METADATA_COMMITTED_LOST.found(
        f"{claim.node}, leader of epoch {claim.epoch}, has a log that ends at {end}, but records up "
        f"to {earlier.high_watermark} had been committed in epoch {earlier.epoch}.",
        subject=f"epoch {claim.epoch}",
        time_ns=claim.time_ns,
        witness=(earlier.index, claim.index),
        explanation=tuple(
            f"At {c.time_ns / 1e9:.3f} s {c.node} led epoch {c.epoch}: high watermark {c.high_watermark},"
            f" log end {c.end_offset}."
            for c in (earlier, claim)
        ),
    )
    return msgspec.structs.replace(anomaly, illegal=licence is None, licence=licence)
