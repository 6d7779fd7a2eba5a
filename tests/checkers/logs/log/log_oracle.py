"""Says by definition, pair by pair, what the log checker must find in a small history of one partition.

It shares no code with the checker, knows no licences, and takes quadratic time.
"""

from typing import Any, NamedTuple

from checkers.history.operations import History, Operation, OperationType


class Send(NamedTuple):
    """One record that was sent."""

    value: Any
    offset: int | None
    outcome: str
    invoked_ns: int
    completed_ns: int | None


class Claim(NamedTuple):
    """One source of what stands where."""

    offset: int
    value: Any
    time_ns: int
    final: bool


def expected_counts(history: History) -> dict[str, int]:
    """Exact numbers of lost-write, duplicate, inconsistent-offsets, realtime-order, phantom and G1a."""
    sends, claims = list(sends_of(history)), list(claims_of(history))
    places = {(claim.offset, claim.value) for claim in claims}
    contested = {o for o, v in places if any(o == p and v != w for p, w in places)}
    counts = {
        "inconsistent-offsets": len(contested),
        "phantom": sum(not _attempts(sends, value) for _, value in places),
        "G1a": sum(_attempts(sends, value) == {"fail"} for _, value in places),
        "duplicate": len(set(_doubled(sends, places, contested))),
        "lost-write": len(set(_lost(history, sends, claims))),
        "realtime-order": len(set(_late(sends, claims))),
    }
    return {name: count for name, count in counts.items() if count}


def _attempts(sends: list[Send], value: Any) -> set[str]:
    return {send.outcome for send in sends if send.value == value}


def _doubled(sends: list[Send], places: set[tuple[int, Any]], contested: set[int]) -> list[Any]:
    found = []
    for send in sends:
        possible = sum(other.value == send.value and other.outcome != "fail" for other in sends)
        copies = sum(value == send.value and offset not in contested for offset, value in places)
        if copies > possible > 0:
            found.append(send.value)
    return found


def _lost(history: History, sends: list[Send], claims: list[Claim]) -> list[Any]:
    views, listed_ns = _views(history)
    alive = {claim.value for claim in claims if claim.final}
    found = []
    for claim in claims:
        known_ns = min(c.time_ns for c in claims if (c.offset, c.value) == (claim.offset, claim.value))
        due = bool(_attempts(sends, claim.value) - {"fail"})
        covered = any(_covers(view, listed_ns, claim, known_ns) for view in views)
        if due and covered and claim.value not in alive:
            found.append(claim.value)
    return found


def _covers(view: dict[str, Any], listed_ns: int, claim: Claim, known_ns: int) -> bool:
    whole = view["position"] >= view["end"]
    passed = claim.offset < view["position"]
    shorter = whole and known_ns < listed_ns
    return bool(passed or shorter)


def _late(sends: list[Send], claims: list[Claim]) -> list[tuple[int, Any]]:
    found = []
    for claim in claims:
        began = [send.invoked_ns for send in sends if send.value == claim.value]
        if began and any(other.time_ns < min(began) and other.offset > claim.offset for other in claims):
            found.append((claim.offset, claim.value))
    return found


def _pairs(history: History, *functions: str) -> list[tuple[Operation, Operation | None]]:
    """Invocations with their completions."""
    pairs: list[tuple[Operation, Operation | None]] = []
    for operation in history.operations:
        if operation.f not in functions:
            continue
        if operation.type is OperationType.INVOKE:
            pairs.append((operation, None))
        else:
            number = max(n for n, (begun, _) in enumerate(pairs) if begun.process == operation.process)
            pairs[number] = (pairs[number][0], operation)
    return pairs


def sends_of(history: History) -> list[Send]:
    """All records that were sent."""
    found = []
    for begun, done in _pairs(history, "send"):
        for number, (_, value) in enumerate(begun.value):
            if done is None:
                found.append(Send(value, None, "info", begun.time_ns, None))
            else:
                _, _, offset, outcome = done.value[number]
                found.append(Send(value, offset, outcome, begun.time_ns, done.time_ns))
    return found


def claims_of(history: History) -> list[Claim]:
    """All sources of what stands where."""
    claims = [
        Claim(send.offset, send.value, send.completed_ns or 0, final=False)
        for send in sends_of(history)
        if send.offset is not None
    ]
    for _, done in _pairs(history, "poll", "final-read"):
        if done is not None:
            for _, offsets, values in done.value["records"]:
                claims += [
                    Claim(offset, value, done.time_ns, done.f == "final-read")
                    for offset, value in zip(offsets, values, strict=True)
                ]
    return claims


def _views(history: History) -> tuple[list[dict[str, Any]], int]:
    """What final reads returned, and the time before which none of them listed its offsets."""
    pairs = [(begun, done) for begun, done in _pairs(history, "final-read") if done is not None]
    return [done.value for _, done in pairs], min((begun.time_ns for begun, _ in pairs), default=0)
