"""Selects runs by the query string of an address, so that a filtered view can be linked."""

import re
from collections.abc import Callable, Iterable
from urllib.parse import parse_qsl, urlencode

import msgspec

from results.serve.listing import NAME_CHARACTERS_MAX, ListedRun

PAGE_RUNS = 200
UNEXPECTED = "unexpected"
"""Selects runs whose verdict is not the expected one."""
_NEWEST_FIRST = "time"
_FIELDS_MAX = 24
_PAGE_MAX = 1_000_000
_FILTERS = ("scenario", "version", "verdict", "anomaly", "fault", "text")
_DIGITS = re.compile(r"[0-9]{1,18}|[^0-9]+")
_END = (1, 0, "")
"""Sorts a version after the same one with a suffix, and before the same one with a further number."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Selection of runs, their order, and the page.

    Attributes:
        scenario: name of the scenario; empty for any.
        version: version of Kafka.
        verdict: an outcome, or `UNEXPECTED`.
        anomaly: id of an anomaly that the run has.
        fault: kind of a fault that the run had.
        text: words that all occur in a run's line, case-insensitive.
        sort: a name in `ORDERS`.
        down: whether to sort in descending order.
        page: number of the page, from 1.
    """

    scenario: str = ""
    version: str = ""
    verdict: str = ""
    anomaly: str = ""
    fault: str = ""
    text: str = ""
    sort: str = _NEWEST_FIRST
    down: bool = True
    page: int = 1

    @property
    def filters(self) -> dict[str, str]:
        """The filters that are set."""
        return {name: value for name in _FILTERS if (value := getattr(self, name))}


class Page(msgspec.Struct, frozen=True):
    """The selected runs: all of them in order, and those of the page."""

    chosen: tuple[ListedRun, ...]
    shown: tuple[ListedRun, ...]
    number: int
    pages: int


def parse_query(text: str) -> Query:
    """Parse the query of an address; unknown fields and invalid values are ignored."""
    given = dict(parse_qsl(text, max_num_fields=_FIELDS_MAX, errors="replace"))
    filters = {name: given[name][:NAME_CHARACTERS_MAX] for name in _FILTERS if name in given}
    sort = given.get("sort", _NEWEST_FIRST)
    number = given.get("page", "1")
    return Query(
        **filters,
        sort=sort if sort in ORDERS else _NEWEST_FIRST,
        down=given.get("order", "down") != "up",
        page=min(max(int(number), 1), _PAGE_MAX) if number.isascii() and number.isdigit() else 1,
    )


def query_string(query: Query, **changes: object) -> str:
    """A changed query as the end of an address, with question mark; a new selection begins at page 1."""
    wanted = msgspec.structs.replace(query, **({"page": 1} | changes))
    fields = dict(wanted.filters)
    if wanted.sort != _NEWEST_FIRST or not wanted.down:
        fields |= {"sort": wanted.sort, "order": "down" if wanted.down else "up"}
    if wanted.page > 1:
        fields["page"] = str(wanted.page)
    return "?" + urlencode(fields, errors="replace") if fields else "?"


def choose(entries: Iterable[ListedRun], query: Query) -> Page:
    """Filter, sort (stable, newest first) and split into pages.

    A page number larger than that of the last page selects the last page.
    """
    words = query.text.casefold().split()
    chosen = [entry for entry in entries if _fits(entry, query) and _has(entry, words)]
    if (query.sort, query.down) != (_NEWEST_FIRST, True):
        chosen.sort(key=ORDERS[query.sort], reverse=query.down)
    pages = max(-(-len(chosen) // PAGE_RUNS), 1)
    number = min(query.page, pages)
    shown = chosen[(number - 1) * PAGE_RUNS : number * PAGE_RUNS]
    return Page(tuple(chosen), tuple(shown), number, pages)


def version_order(version: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key of versions: 3.9 before 3.10, and a release candidate before its release."""
    return (*map(_part_order, _DIGITS.findall(version)), _END)


def _part_order(part: str) -> tuple[int, int, str]:
    """Sort key of a number, of a suffix such as ``-rc``, or of other text between them."""
    if part[0] in "0123456789":
        return 3, int(part), ""
    return (0 if part[0] == "-" else 2), 0, part


def _fits(entry: ListedRun, query: Query) -> bool:
    run = entry.summary
    return (
        query.scenario in ("", run.scenario)
        and query.version in ("", run.kafka_version)
        and _judged_so(entry, query.verdict)
        and (not query.anomaly or query.anomaly in run.anomalies)
        and (not query.fault or query.fault in (entry.faults or {}))
    )


def _judged_so(entry: ListedRun, verdict: str) -> bool:
    if verdict == UNEXPECTED:
        return entry.summary.as_expected is False
    return verdict in ("", entry.outcome)


def _has(entry: ListedRun, words: list[str]) -> bool:
    if not words:
        return True
    run = entry.summary
    identity = (entry.place, run.scenario, run.kafka_version, f"seed-{run.seed}", run.began_at, entry.outcome)
    replay = ("replay", run.replay_of) if run.replay_of else ()
    line = " ".join(
        (*identity, *replay, *run.anomalies, *entry.causes, *(entry.faults or ()), *run.problems)
    ).casefold()
    return all(word in line for word in words)


_GRAVITY = {"valid": 0, "unjudged": 1, "unknown": 2, "invalid": 3}
ORDERS: dict[str, Callable[[ListedRun], int | str | tuple[object, ...]]] = {
    _NEWEST_FIRST: lambda entry: entry.name,
    "scenario": lambda entry: entry.summary.scenario,
    "version": lambda entry: version_order(entry.summary.kafka_version),
    "seed": lambda entry: -1 if entry.summary.seed is None else entry.summary.seed,
    "verdict": lambda entry: _GRAVITY[entry.outcome],
    "expected": lambda entry: {False: 2, None: 1, True: 0}[entry.summary.as_expected],
    "anomalies": lambda entry: (len(entry.summary.illegal), sum(entry.summary.anomalies.values())),
    "faults": lambda entry: sum((entry.faults or {}).values()),
    "operations": lambda entry: entry.operations or 0,
}
"""Sort keys of runs, by column."""
