"""Converts a run's verdict to rows of the tables `verdicts` and `anomalies`."""

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import msgspec
import pyarrow as pa

import checkers
from checkers.history.setup import Setup
from checkers.judge import reasons_of
from checkers.verdict.verdict import Anomaly, CheckerResult, Verdict
from results.pipeline.rows.columnar import rows
from results.run.wording import words_of

WHOLE = "*"
"""Name of the row for the verdict of all checkers."""
CHECKED_BY = "checkers"
"""The figure of that row with the `checkers_version`."""
_AROUND = ",.;:()'\""


class AnomalyRow(msgspec.Struct, frozen=True):
    """All anomalies of an id, as the table `anomalies` has them."""

    id: str
    count: int
    illegal: bool
    summary: str
    explanation: str
    signature: str


class VerdictRow(msgspec.Struct, frozen=True):
    """A row of the table `verdicts`, and the anomalies that belong to it."""

    checker: str
    validity: str
    unknown_because: str | None
    reasons: list[str]
    figures: str
    seconds: float | None
    anomalies: list[AnomalyRow]


@cache
def checkers_version() -> str:
    """A hash of the code of the checkers; other code may give other verdicts."""
    digest = hashlib.blake2b(digest_size=8)
    root = Path(checkers.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def rows_of_verdict(
    verdict: Verdict, setup: Setup | None, fault_kinds: tuple[str, ...], seconds: dict[str, float]
) -> Iterator[VerdictRow]:
    """A row without anomalies for the whole verdict, then one for each checker with its anomalies.

    Args:
        verdict: the verdict of all checkers.
        setup: the run's set-up; signatures do not contain its topics.
        fault_kinds: kinds of faults that were injected.
        seconds: duration of each checker and of other work.
    """
    yield VerdictRow(
        checker=WHOLE,
        validity=str(verdict.validity),
        unknown_because=None,
        reasons=list(verdict.reasons),
        figures=_json({CHECKED_BY: checkers_version(), "as_expected": verdict.as_expected}),
        seconds=sum(seconds.values()),
        anomalies=[],
    )
    topics = () if setup is None else tuple(topic.name for topic in setup.topics)
    for result in verdict.results:
        yield VerdictRow(
            checker=result.checker,
            validity=str(result.validity),
            unknown_because=result.unknown_because,
            reasons=list(reasons_of(result)),
            figures=_json(result.figures),
            seconds=seconds.get(result.checker),
            anomalies=[_anomaly(result, name, topics, fault_kinds) for name in result.counts],
        )


def tables_of_verdict(run: str, judged: Iterable[VerdictRow]) -> dict[str, pa.Table]:
    """Convert the result of `rows_of_verdict` to tables of `verdicts` and `anomalies`."""
    verdicts: list[dict[str, object]] = []
    anomalies: list[dict[str, object]] = []
    for row in judged:
        anomalies += [
            {"checker": row.checker, **msgspec.structs.asdict(anomaly)} for anomaly in row.anomalies
        ]
        columns = msgspec.structs.asdict(row)
        verdicts.append({name: value for name, value in columns.items() if name != "anomalies"})
    return {"verdicts": rows("verdicts", run, verdicts), "anomalies": rows("anomalies", run, anomalies)}


def _anomaly(
    result: CheckerResult, name: str, topics: Iterable[str], fault_kinds: Iterable[str]
) -> AnomalyRow:
    """A row for all anomalies of an id, described by the first illegal one, else by the first."""
    first = min((a for a in result.anomalies if a.id == name), key=_is_legal)
    return AnomalyRow(
        id=name,
        count=result.counts[name],
        illegal=first.illegal,
        summary=first.summary,
        explanation="\n".join(first.explanation),
        signature=signature(result.checker, first, topics, fault_kinds),
    )


def _is_legal(anomaly: Anomaly) -> bool:
    return not anomaly.illegal


def signature(checker: str, anomaly: Anomaly, topics: Iterable[str], fault_kinds: Iterable[str]) -> str:
    """A hash that is equal for the same failure in other runs.

    It covers checker, id, kinds of faults, and the words of the summary that do not depend on the run
    (`results.run.wording`), without the run's topics.
    """
    named = sorted(topics, key=len, reverse=True)
    words = [word for word in words_of(checker, anomaly) if not _is_topic(word, named)]
    text = _json([checker, anomaly.id, sorted(set(fault_kinds)), words])
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _is_topic(word: str, topics: Iterable[str]) -> bool:
    bare = word.strip(_AROUND)
    return any(bare == topic or bare.startswith(f"{topic}/") for topic in topics)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
