"""The ends of voters' metadata logs when their processes started again.

A leader reports how far a voter has fetched, and which of these records are committed.  A voter flushes
fetched records before its next fetch, so neither the end of its process nor a power loss removes them.  The
leader counts its own records before it has flushed them.  Recovery removes only damaged records.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from checkers.evidence.faults import FaultWindow
from checkers.evidence.log_ends import SLACK_NS, Placed
from checkers.history.logged import LogLoaded
from checkers.history.replicas import METADATA_TOPIC
from checkers.history.setup import Setup
from checkers.kraft.quorum.leader_answers import END_REGRESSION
from checkers.kraft.quorum.views import LeaderClaim
from checkers.verdict.verdict import Anomaly

POWER_LOSS = "power-loss"


class _Committed(NamedTuple):
    """The offset up to which a voter had the committed records, and the answer that reported it."""

    end: int
    claim: LeaderClaim


def ends_forgotten(
    loads: Iterable[Placed[LogLoaded]],
    claims: Sequence[LeaderClaim],
    disk_faults: Sequence[FaultWindow],
    licence: Callable[[LeaderClaim, int], str | None],
    setup: Setup,
) -> Iterator[Anomaly]:
    """Metadata logs that ended, when loaded, below committed records that their voter had had before.

    Args:
        loads: every log that a node loaded when it started.
        claims: answers of leaders.
        disk_faults: faults of disks with metadata logs.
        licence: why records that were committed when a leader answered may be lost by a time.
        setup: the run's setup, which lists the controllers.
    """
    ids = {name: voter for voter, name in setup.controllers.items()}
    for load in loads:
        if load.logged.topic != METADATA_TOPIC or load.node not in ids:
            continue
        had = max(
            _reported(load, ids[load.node], claims, disk_faults), default=None, key=lambda each: each.end
        )
        if had is not None and load.logged.end < had.end:
            why = licence(had.claim, load.time_ns)
            found = _forgotten(load, ids[load.node], had)
            yield msgspec.structs.replace(found, illegal=why is None, licence=why)


def _reported(
    load: Placed[LogLoaded], voter: int, claims: Sequence[LeaderClaim], disk_faults: Sequence[FaultWindow]
) -> Iterator[_Committed]:
    """Leaders' reports about a voter before it loaded its log, if no fault hit its disk in between."""
    mine = [fault for fault in disk_faults if fault.concerns(load.node)]
    for claim in claims:
        if claim.time_ns > load.time_ns - SLACK_NS:
            continue
        between = [each for each in mine if each.overlaps(claim.began_ns, load.time_ns + SLACK_NS)]
        if any(each.kind != POWER_LOSS or claim.leader_id == voter for each in between):
            continue
        for each in claim.voters:
            if each.id == voter:
                yield _Committed(min(each.log_end_offset, claim.high_watermark), claim)


def _forgotten(load: Placed[LogLoaded], voter: int, had: _Committed) -> Anomaly:
    claim = had.claim
    return END_REGRESSION.found(
        f"The log of voter {voter} ended at {load.logged.end} when {load.node} loaded it, but had had "
        f"committed records up to {had.end} in epoch {claim.epoch}.",
        subject=f"voter {voter}, line {load.logged.line}",
        time_ns=load.time_ns,
        witness=(claim.index, load.index),
        explanation=(
            f"At {claim.time_ns / 1e9:.3f} s {claim.node} reported high watermark {claim.high_watermark}.",
            f"By then {voter} had fetched at least all records below {had.end}.",
            f"{load.cited}: it loads that log up to {load.logged.end}.",
        ),
    )
