"""Records of topics that are created and deleted, fetched by topic id.

A fetch by an id returns records of that topic alone, whichever broker answers and however old its metadata is
(KIP-516).  So each record was appended under the topic's name, after the topic's creation was requested.  It
may also be an append whose time is unknown: before Produce v13 a request has only the name, so a delayed
request appends to the topic that has the name at that time.  Each append is requested once, and a log begins
at offset 0: it has no more offsets.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from checkers.history.changing_topics import RecordRequested, RecordsFetched
from checkers.history.operations import INFO, INVOKE, OK, History, Operation
from checkers.kraft.metadata.anomalies import DELETED_RECORDS
from checkers.kraft.metadata.findings import found_by
from checkers.kraft.metadata.loading import Metadata, converted
from checkers.kraft.metadata.topic_lives import Life, lives_of
from checkers.verdict.verdict import Anomaly

APPEND, FETCH = "append-record", "fetch-records"


class FetchesResult(NamedTuple):
    """The result of judging the fetches.

    Attributes:
        anomalies: records of another topic, the first of each fetch.
        figures: number of fetched records, and number of fetches of topics that were created again.
    """

    anomalies: list[Anomaly]
    figures: dict[str, int]


class _Append(NamedTuple):
    """A record that was, or may have been, appended; `ended` is None if it is unknown whether and when."""

    begin: Operation
    ended: int | None


def judge_fetched(history: History, metadata: Metadata) -> FetchesResult:
    """Judge all fetches of topics whose creation was acknowledged; other fetches can't be compared.

    Raises:
        MetadataShapeError: an operation is not as docs/histories.md says.
    """
    figures = {"records_fetched": 0, "recreated_topics_fetched": 0}
    appends = _appends(history)
    found: list[Anomaly] = []
    for operation in history.of(FETCH):
        if operation.type is not OK:
            continue
        fetch = converted(operation, RecordsFetched)
        name, lives = str(operation.key), lives_of(metadata, str(operation.key))
        place = next((n for n, life in enumerate(lives) if life.topic_id == fetch.topic_id), None)
        if place is None:
            continue
        figures["records_fetched"] += len(fetch.records)
        figures["recreated_topics_fetched"] += place > 0
        own = [each for each in appends.values() if _may_be_in(each, lives[place], operation)]
        found += list(_strange(name, operation, fetch, appends, own))[:1]
    return FetchesResult(found, figures if appends else {})


def _appends(history: History) -> dict[int, _Append]:
    """All requested appends, by value."""
    found: dict[int, _Append] = {}
    for operation in history.of(APPEND):
        asked = converted(operation, RecordRequested)
        if operation.type is INVOKE:
            found[asked.value] = _Append(operation, None)
        elif operation.type is not INFO and asked.value in found:
            found[asked.value] = found[asked.value]._replace(ended=operation.index)
    return found


def _may_be_in(append: _Append, life: Life, fetch: Operation) -> bool:
    """Whether a fetch of a topic may return the record of an append."""
    before = append.ended is not None and append.ended < life.creation.begin.index
    return append.begin.key == fetch.key and append.begin.index < fetch.index and not before


def _strange(
    name: str,
    fetched: Operation,
    fetch: RecordsFetched,
    appends: dict[int, _Append],
    own: Sequence[_Append],
) -> Iterator[Anomaly]:
    begins = f"A fetch of {name} by the id {fetch.topic_id} returned"
    if fetch.log_start > len(own):
        yield found_by(DELETED_RECORDS, name, f"{begins} a log from offset {fetch.log_start} on.", [fetched])
    for offset, value in fetch.records:
        append = appends.get(value) if isinstance(value, int) else None
        if append is None:
            yield found_by(DELETED_RECORDS, name, f"{begins} {value!r}, which was never appended.", [fetched])
        elif append not in own:
            text = f"{begins} {value} at offset {offset}, which was appended to another topic."
            yield found_by(DELETED_RECORDS, name, text, [append.begin, fetched])
        elif offset >= len(own):
            text = f"{begins} {value} at offset {offset}, but at most {len(own)} records were appended."
            yield found_by(DELETED_RECORDS, name, text, [append.begin, fetched])
