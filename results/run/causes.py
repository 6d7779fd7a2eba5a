"""Groups the anomalies of a verdict by their cause: same place, same epoch, near each other.

A result counts all anomalies, but lists only some.  Its tallies give the places of the others.  Counts
without a tally form a separate cause, so that the totals include all anomalies.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from checkers.judge import anomaly_reasons
from checkers.verdict.places import QUORUM, AnomalyPlace, place_of
from checkers.verdict.tallies import NEAR_NS, NEAR_OFFSETS, AnomalyTally
from checkers.verdict.verdict import Anomaly, CheckerResult, Verdict

_GRAVEST = (
    "two-leaders",
    "lost-write",
    "known-gap",
    "lost-update",
    "inconsistent-offsets",
    "phantom",
    "zombie-leader",
    "G1a",
    "torn-transaction",
    "duplicate",
    "replica-divergence",
)
"""The most severe kinds of anomalies, the most severe first."""
_TRANSACTIONAL = frozenset(("transactions", "list-append", "rw-register"))
_NO_OFFSET = -1


class Shown(msgspec.Struct, frozen=True):
    """A listed anomaly, and the checker that found it."""

    checker: str
    anomaly: Anomaly


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """Anomalies that one event may explain.

    Attributes:
        place: a partition, a group, a node, or ``quorum``; the name of the checker if the place is unknown.
        illegal: whether they break a guarantee.
        kinds: number of anomalies by id, the most severe id first.
        shown: listed anomalies, the most severe id first, then in the order of time.
        epochs: the first and the last epoch; None if unknown.
        offsets: the lowest and the highest offset; None if unknown.
        times_ns: when the first and the last anomaly became visible; None if not recorded.
        placed: False if only the number of anomalies is known.
    """

    place: str
    illegal: bool
    kinds: tuple[tuple[str, int], ...]
    shown: tuple[Shown, ...] = ()
    epochs: tuple[int, int] | None = None
    offsets: tuple[int, int] | None = None
    times_ns: tuple[int, int] | None = None
    placed: bool = True

    @property
    def total(self) -> int:
        """Number of anomalies of the cause."""
        return sum(count for _, count in self.kinds)

    @property
    def witness(self) -> Shown | None:
        """The earliest listed anomaly of the most severe kind."""
        return self.shown[0] if self.shown else None


class KindsTogether(msgspec.Struct, frozen=True):
    """Causes with the same kinds of anomalies.

    Attributes:
        kinds: ids, the most severe first.
        causes: number of causes.
        anomalies: number of their anomalies.
    """

    kinds: tuple[str, ...]
    causes: int
    anomalies: int


class _Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """A listed anomaly, or a number of anomalies, at one place."""

    id: str
    place: str
    illegal: bool
    count: int
    epochs: tuple[int, int] | None = None
    offsets: tuple[int, int] | None = None
    times_ns: tuple[int, int] | None = None
    shown: Shown | None = None


def causes_of(verdict: Verdict, checker: str | None = None) -> tuple[Cause, ...]:
    """All anomalies by cause: illegal ones first, then the most severe kind, then the earliest.

    Args:
        verdict: the verdict.
        checker: only anomalies of this checker; None for all checkers.
    """
    starts = {name: epochs for result in verdict.results for name, epochs in result.epoch_starts.items()}
    alike: dict[tuple[bool, str, int | None], list[_Sighting]] = {}
    unplaced: list[Cause] = []
    for result in verdict.results:
        if checker not in {None, result.checker}:
            continue
        for sighting in _sightings(result, starts):
            # Without an epoch, only the distance distinguishes causes at one place.
            epoch = None if sighting.epochs is None else sighting.epochs[0]
            alike.setdefault((sighting.illegal, sighting.place, epoch), []).append(sighting)
        unplaced += _unplaced(result)
    # Results of an earlier krucible may list an anomaly that a tally counts at another place; the tally wins.
    causes = [cause for cause in map(_cause, _near(alike.values())) if cause.kinds]
    return tuple(sorted([*causes, *unplaced], key=_order))


def illegal_causes(verdict: Verdict, checker: str | None = None) -> tuple[Cause, ...]:
    """The illegal causes, in the order of `causes_of`."""
    return tuple(cause for cause in causes_of(verdict, checker) if cause.illegal)


def cause_lines(causes: Sequence[Cause], limit: int) -> tuple[str, ...]:
    """A line for each cause; the last line counts the causes above the limit."""
    rest = (f"and {rest_text(causes[limit:])}",) if len(causes) > limit else ()
    return (*map(cause_line, causes[:limit]), *rest)


def rest_text(causes: Sequence[Cause]) -> str:
    """Number of anomalies and causes that are not shown, such as ``12 more anomalies of 3 more causes``."""
    total = sum(cause.total for cause in causes)
    anomalies = "anomaly" if total == 1 else "anomalies"
    return f"{total:,} more {anomalies} of {len(causes):,} more {'cause' if len(causes) == 1 else 'causes'}"


def kinds_together(causes: Sequence[Cause]) -> tuple[KindsTogether, ...]:
    """Causes by their kinds, in the order of the first cause."""
    alike: dict[tuple[str, ...], list[Cause]] = {}
    for cause in causes:
        alike.setdefault(tuple(name for name, _ in cause.kinds), []).append(cause)
    return tuple(
        KindsTogether(kinds, len(some), sum(cause.total for cause in some)) for kinds, some in alike.items()
    )


def first_of_kinds(cause: Cause) -> tuple[Shown, ...]:
    """The earliest listed anomaly of each kind, the most severe kind first."""
    firsts: dict[str, Shown] = {}
    for one in cause.shown:
        firsts.setdefault(one.anomaly.id, one)
    return tuple(firsts.values())


def cause_name(cause: Cause) -> str:
    """Place, offsets and epochs, such as ``log-0/3, offset 220, epoch 5``; the place is not cleaned."""
    if not cause.placed:
        return f"{cause.place}, places not recorded"
    parts = [cause.place]
    if cause.offsets is not None:
        parts.append(_span("offset", cause.offsets))
    if cause.epochs is not None:
        parts.append(_span("epoch", cause.epochs))
    return ", ".join(parts)


def cause_line(cause: Cause) -> str:
    """A cause in one line: its name, and the number of anomalies and kinds."""
    if len(cause.kinds) == 1:
        name, count = cause.kinds[0]
        text = f"{count:,} {name}"
    else:
        text = f"{cause.total:,} anomalies of {len(cause.kinds)} kinds ({kinds_text(cause)})"
    return f"{cause_name(cause)}: {text}{'' if cause.illegal else ' (legal)'}"


def kinds_text(cause: Cause) -> str:
    """Number of anomalies of each kind, the most severe first."""
    return ", ".join(f"{count:,} {name}" for name, count in cause.kinds)


def other_reasons(verdict: Verdict) -> tuple[str, ...]:
    """Reasons why a verdict is not valid, without those that its causes state."""
    listed = {reason for result in verdict.results for reason in anomaly_reasons(result)}
    return tuple(reason for reason in verdict.reasons if reason not in listed)


def severity(identity: str) -> tuple[int, str]:
    """Sort key of kinds of anomalies, the most severe first."""
    place = _GRAVEST.index(identity) if identity in _GRAVEST else len(_GRAVEST)
    return place, identity


def _span(name: str, ends: tuple[int, int]) -> str:
    first, last = ends
    return f"{name} {first}" if first == last else f"{name}s {first}–{last}"  # noqa: RUF001 - a range


def _sightings(result: CheckerResult, starts: Mapping[str, Sequence[tuple[int, int]]]) -> Iterator[_Sighting]:
    """The listed anomalies and the tallies. If an id has tallies, its count comes from the tallies only."""
    tallied: dict[str, list[AnomalyTally]] = {}
    for tally in result.tallies:
        tallied.setdefault(tally.id, []).append(tally)
    for anomaly in result.anomalies:
        place = place_of(anomaly.subject, result.checker)
        name = _name(result.checker, place.name, placed=place.offset is not None, starts=starts)
        counted = next((one for one in tallied.get(anomaly.id, ()) if _counts(one, anomaly, place)), None)
        # It belongs to the cause of its tally, which may cover several epochs.
        offset = place.offset if counted is None else counted.first_offset
        epoch = _epoch_at(starts.get(name, ()), offset) if place.epoch is None else place.epoch
        yield _Sighting(
            id=anomaly.id,
            place=name,
            illegal=anomaly.illegal,
            count=0 if anomaly.id in tallied else 1,
            epochs=_pair(epoch, epoch),
            offsets=_pair(place.offset, place.offset),
            times_ns=_pair(anomaly.time_ns, anomaly.time_ns),
            shown=Shown(result.checker, anomaly),
        )
    for tally in result.tallies:
        placed = tally.first_offset is not None
        name = _name(result.checker, tally.place, placed=placed, starts=starts)
        first, last = (
            _epoch_at(starts.get(name, ()), offset) if tally.epoch is None else tally.epoch
            for offset in (tally.first_offset, tally.last_offset)
        )
        yield _Sighting(
            id=tally.id,
            place=name,
            illegal=tally.illegal,
            count=tally.count,
            epochs=_pair(first, last),
            offsets=_pair(tally.first_offset, tally.last_offset),
            times_ns=_pair(tally.first_ns, tally.last_ns),
        )


def _counts(tally: AnomalyTally, anomaly: Anomaly, place: AnomalyPlace) -> bool:
    """Whether a tally of the same id includes the anomaly."""
    if (tally.place, tally.illegal, tally.epoch) != (place.name, anomaly.illegal, place.epoch):
        return False
    if place.offset is not None and tally.first_offset is not None:
        return tally.first_offset <= place.offset <= _last(_pair(tally.first_offset, tally.last_offset))
    times_ns = _pair(tally.first_ns, tally.last_ns)
    return anomaly.time_ns is None or (times_ns is not None and times_ns[0] <= anomaly.time_ns <= times_ns[1])


def _name(checker: str, name: str, *, placed: bool, starts: Mapping[str, object]) -> str:
    """The name of a place. Cycles of transactions have no place."""
    if checker not in _TRANSACTIONAL or placed or name in starts or name == QUORUM:
        return name
    return "transactions"


def _epoch_at(starts: Sequence[tuple[int, int]], offset: int | None) -> int | None:
    """The latest epoch that began at or below an offset; the epoch starts may be in any order."""
    if offset is None:
        return None
    return max((epoch for epoch, start in starts if start <= offset), default=None)


def _pair(first: int | None, last: int | None) -> tuple[int, int] | None:
    return None if first is None or last is None else (first, last)


def _unplaced(result: CheckerResult) -> Iterator[Cause]:
    """Anomalies that are counted, but neither listed nor tallied."""
    tallied = Counter[str]()
    for tally in result.tallies:
        tallied[tally.id] += tally.count
    listed = Counter(anomaly.id for anomaly in result.anomalies)
    # Illegal anomalies are listed first, so if a legal one is listed, all illegal ones are listed.
    legal = {anomaly.id for anomaly in result.anomalies if not anomaly.illegal}
    rest = {
        name: count - (tallied[name] or listed[name])
        for name, count in result.counts.items()
        if count > (tallied[name] or listed[name])
    }
    for illegal in (True, False):
        kinds = [(name, count) for name, count in rest.items() if (name not in legal) == illegal]
        if kinds:
            kinds.sort(key=lambda kind: severity(kind[0]))
            yield Cause(place=result.checker, illegal=illegal, kinds=tuple(kinds), placed=False)


def _near(alike: Iterable[Sequence[_Sighting]]) -> Iterator[list[_Sighting]]:
    """Groups of sightings with the same place and epoch that are near each other by offset or time."""
    for some in alike:
        hosts = list(_chained([one for one in some if one.offsets], "offsets", NEAR_OFFSETS))
        times = [_hull(one.times_ns for one in host) for host in hosts]
        for group in _chained([one for one in some if not one.offsets], "times_ns", NEAR_NS):
            moment = _hull(one.times_ns for one in group)
            host = next((host for host, of in zip(hosts, times, strict=True) if _together(moment, of)), None)
            if host is None:
                yield group
            else:
                host += group
        yield from hosts


def _chained(some: Sequence[_Sighting], by: str, near: int) -> Iterator[list[_Sighting]]:
    """Groups in the order of their ranges' starts; a gap of more than `near` separates two groups."""
    group: list[_Sighting] = []
    reach = _NO_OFFSET
    for one in sorted(some, key=lambda each: _first(getattr(each, by))):
        if group and _first(getattr(one, by)) > reach + near:
            yield group
            group = []
        group.append(one)
        reach = max(reach, _last(getattr(one, by)))
    if group:
        yield group


def _first(ends: tuple[int, int] | None) -> int:
    return _NO_OFFSET if ends is None else ends[0]


def _last(ends: tuple[int, int] | None) -> int:
    return _NO_OFFSET if ends is None else ends[1]


def _together(one: tuple[int, int] | None, other: tuple[int, int] | None) -> bool:
    if one is None or other is None:
        return False
    return one[0] <= other[1] + NEAR_NS and other[0] <= one[1] + NEAR_NS


def _hull(ranges: Iterable[tuple[int, int] | None]) -> tuple[int, int] | None:
    known = [one for one in ranges if one is not None]
    return (min(first for first, _ in known), max(last for _, last in known)) if known else None


def _cause(group: Sequence[_Sighting]) -> Cause:
    counts = Counter[str]()
    for one in group:
        counts[one.id] += one.count
    shown = [one.shown for one in group if one.shown is not None]
    shown.sort(key=lambda one: (severity(one.anomaly.id), *_moment(one.anomaly)))
    return Cause(
        place=group[0].place,
        illegal=group[0].illegal,
        kinds=tuple((name, counts[name]) for name in sorted(counts, key=severity) if counts[name]),
        shown=tuple(shown),
        epochs=_hull(one.epochs for one in group),
        offsets=_hull(one.offsets for one in group),
        times_ns=_hull(one.times_ns for one in group),
    )


def _moment(anomaly: Anomaly) -> tuple[bool, int]:
    return anomaly.time_ns is None, anomaly.time_ns or 0


def _order(cause: Cause) -> tuple[bool, bool, int, bool, int, str, int]:
    severe, began_ns = severity(cause.kinds[0][0])[0], _first(cause.times_ns)
    timeless = cause.times_ns is None
    return (
        not cause.illegal,
        not cause.placed,
        severe,
        timeless,
        began_ns,
        cause.place,
        _first(cause.offsets),
    )
