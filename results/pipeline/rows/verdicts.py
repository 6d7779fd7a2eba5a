"""Rows of the tables `verdicts` and `anomalies` that a run's verdict becomes."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

import checkers
from checkers.history.setup import Setup
from checkers.judge import reasons_of
from checkers.verdict.verdict import Anomaly, CheckerResult, Verdict
from results.pipeline.rows.columnar import rows

WHOLE = "*"
"""Name of the row that is about all checkers together."""
CHECKED_BY = "checkers"
"""The figure of that row that reports by which checkers: `checkers_version`."""
_LONG = 20
_WORD = re.compile(r"[^\s,;:()'\"]+")


@cache
def checkers_version() -> str:
    """A hash of the checkers' own code: verdicts of other code may be others."""
    digest = hashlib.blake2b(digest_size=8)
    root = Path(checkers.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def rows_of_verdict(
    verdict: Verdict, setup: Setup | None, fault_kinds: tuple[str, ...], seconds: dict[str, float]
) -> Iterator[dict[str, Any]]:
    """A row for each checker with its anomalies, after one for the whole with none.

    Args:
        verdict: what all checkers said.
        setup: the run's set-up, whose topics no signature names.
        fault_kinds: kinds of faults that were injected.
        seconds: how long each checker took, and what else took time.
    """
    yield {
        "checker": WHOLE,
        "validity": str(verdict.validity),
        "unknown_because": None,
        "reasons": list(verdict.reasons),
        "figures": _json({CHECKED_BY: checkers_version(), "as_expected": verdict.as_expected}),
        "seconds": sum(seconds.values()),
        "anomalies": [],
    }
    topics = () if setup is None else tuple(topic.name for topic in setup.topics)
    for result in verdict.results:
        yield {
            "checker": result.checker,
            "validity": str(result.validity),
            "unknown_because": result.unknown_because,
            "reasons": list(reasons_of(result)),
            "figures": _json(result.figures),
            "seconds": seconds.get(result.checker),
            "anomalies": [_anomaly(result, name, topics, fault_kinds) for name in result.counts],
        }


def tables_of_verdict(run: str, judged: Iterable[dict[str, Any]]) -> dict[str, pa.Table]:
    """A run's rows of `verdicts` and `anomalies`, of those that `rows_of_verdict` gives."""
    verdicts, anomalies = [], []
    for row in judged:
        anomalies += [{"checker": row["checker"], **anomaly} for anomaly in row["anomalies"]]
        verdicts.append({name: value for name, value in row.items() if name != "anomalies"})
    return {"verdicts": rows("verdicts", run, verdicts), "anomalies": rows("anomalies", run, anomalies)}


def _anomaly(
    result: CheckerResult, name: str, topics: Iterable[str], fault_kinds: Iterable[str]
) -> dict[str, Any]:
    """All anomalies of one id, told by the first of those that break a promise, or else by the first."""
    first = min((a for a in result.anomalies if a.id == name), key=_is_legal)
    return {
        "id": name,
        "count": result.counts[name],
        "illegal": first.illegal,
        "summary": first.summary,
        "explanation": "\n".join(first.explanation),
        "signature": signature(result.checker, first, topics, fault_kinds),
    }


def _is_legal(anomaly: Anomaly) -> bool:
    return not anomaly.illegal


def signature(checker: str, anomaly: Anomaly, topics: Iterable[str], fault_kinds: Iterable[str]) -> str:
    """A hash that is equal for the same failure in another run.

    It is made of checker, id, kinds of faults, and the summary without topics, numbers and ids, whatever
    words these are part of.
    """
    named = sorted(topics, key=len, reverse=True)
    words = [word for word in _WORD.findall(anomaly.summary) if not _is_particular(word, named)]
    told = _json([checker, anomaly.id, sorted(set(fault_kinds)), words])
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


def _is_particular(word: str, topics: Iterable[str]) -> bool:
    return (
        len(word) >= _LONG
        or any(letter.isdigit() for letter in word)
        or any(word == topic or word.startswith(f"{topic}/") for topic in topics)
    )


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
