"""Brokers that claim to coordinate a group or transactional id at the end; only one may.

In the phase evidence, each broker is asked which groups and transactional ids it coordinates.  If two brokers
name the same one, they are asked again, for longer than any coordinator needs to release it.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from checkers.history.observed import CoordinatorsSeen
from checkers.history.operations import OK, History
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

COORDINATORS = "coordinators"
EVIDENCE_COORDINATORS = "coordinators"
RELEASED_WITHIN_NS = 10_000_000_000
"""How long a broker may name an id that it no longer coordinates, until it learns of the change."""

TWO_COORDINATORS = AnomalyKind(
    id="two-coordinators",
    meaning="After recovery two brokers answered for long as coordinator of the same group or "
    "transactional id.",
    guarantee="A group or transactional id has one coordinator: the leader of its partition.",
    source="Kafka documentation, Implementation, Consumer Offset Tracking; KIP-98, Transaction Coordinator",
)


class _Claim(NamedTuple):
    """The period in which a broker has continuously reported that it coordinates an id.

    Attributes:
        first: index of the first such answer.
        since_ns: when the first answer arrived.
        last: index of the last such answer.
        asked_ns: when the last answer was requested.
    """

    first: int
    since_ns: int
    last: int
    asked_ns: int


def two_coordinators(history: History) -> Iterator[Anomaly]:
    """One finding for each group or transactional id with two coordinators after a completed recovery.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    if not any(operation.type is OK for operation in history.of("recover")):
        return
    lasting = _lasting(history)
    for what in dict.fromkeys(what for _, what in sorted(lasting)):
        nodes = sorted(node for node, each in lasting if each == what)
        if len(nodes) > 1:
            yield _found(what, {node: lasting[node, what] for node in nodes})


def _lasting(history: History) -> dict[tuple[str, str], _Claim]:
    """Claims, by broker and coordinated id, that lasted longer than the bound and until the end."""
    claims: dict[tuple[str, str], _Claim] = {}
    for operation in history.observed(COORDINATORS):
        node = operation.node or ""
        seen = msgspec.convert(operation.value, CoordinatorsSeen)
        coordinated = {f"group {name}" for name in seen.groups or ()}
        coordinated |= {f"transactional id {name}" for name in seen.transactional_ids or ()}
        before = {what: claims.pop((node, what)) for by, what in [*claims] if by == node}
        for what in coordinated:
            first = before.get(what, _Claim(operation.index, operation.time_ns, 0, 0))
            claims[node, what] = first._replace(last=operation.index, asked_ns=seen.began_ns)
    lasting = {whose: claim.asked_ns - claim.since_ns for whose, claim in claims.items()}
    return {whose: claims[whose] for whose, span_ns in lasting.items() if span_ns > RELEASED_WITHIN_NS}


def _found(what: str, claims: dict[str, _Claim]) -> Anomaly:
    until_ns = max(claim.asked_ns for claim in claims.values())
    return TWO_COORDINATORS.found(
        f"{' and '.join(claims)} answered as coordinator of {what}",
        subject=what,
        time_ns=until_ns,
        witness=sorted({index for claim in claims.values() for index in (claim.first, claim.last)}),
        explanation=[
            f"{node} gave this answer from {claim.since_ns / 1e9:.3f} s to {claim.asked_ns / 1e9:.3f} s."
            for node, claim in claims.items()
        ],
    )
