"""``issue.md``: a run that is not as expected, told so that it can be pasted into a tracker.

Whatever comes from records and logs stands in code, where it is neither markup nor a mention of somebody.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from checkers.history.identity import RunIdentity
from checkers.verdict.verdict import Anomaly, Verdict
from results.cleaning import clean
from results.junit import passes
from results.markdown import table
from results.store import write_whole
from results.text import headline

ISSUE_FILE = "issue.md"
ANOMALIES_MAX = 10
"""How many anomalies are told in full; those of an id that was told already come last."""
_LINE_MAX = 1_000
_LINES_MAX = 40
_VALUE_MAX = 300


def save_issue(folder: Path, verdict: Verdict, identity: RunIdentity | None) -> Path | None:
    """Write a run's ``issue.md``, or remove the one of an earlier judgement where there is nothing to tell.

    Raises:
        OSError: if the disk does not take it.
    """
    place = folder / ISSUE_FILE
    if passes(verdict):
        place.unlink(missing_ok=True)
        return None
    return write_whole(place, render_issue(folder, verdict, identity).encode())


def render_issue(folder: Path, verdict: Verdict, identity: RunIdentity | None) -> str:
    """The text, with a newline at its end; its first line is the title."""
    blocks = [f"# {_title(folder, verdict, identity)}", *_what(verdict)]
    blocks += ["## Where", _where(folder, identity), *_anomalies(verdict), *_assumptions(verdict)]
    if identity is not None:
        blocks += ["## Again", _fenced([identity.reproduce], "sh", cut=False)]
        blocks += ["A seed fixes the schedule of faults, not the interleaving: it may take several runs."]
    again = f"krucible check {folder}"
    blocks += [f"Judged again from what was recorded, without a cluster: {_code(again, _LINE_MAX)}"]
    return "\n\n".join(blocks) + "\n"


def _title(folder: Path, verdict: Verdict, identity: RunIdentity | None) -> str:
    illegal = _most_telling(verdict)
    found = _code(illegal[0].id) if illegal else f"verdict {verdict.validity}"
    if identity is None:
        return f"{found} in {_code(folder.name)}"
    return f"{found} in {_code(identity.scenario)} on Kafka {_code(identity.kafka_version)}"


def _what(verdict: Verdict) -> Iterator[str]:
    yield f"**{headline(verdict)}**"
    if verdict.reasons:
        yield _fenced(verdict.reasons)


def _where(folder: Path, identity: RunIdentity | None) -> str:
    facts = {"folder": str(folder)}
    if identity is not None:
        image = identity.image
        facts = {
            "scenario": identity.scenario,
            "seed": str(identity.seed),
            "Kafka": identity.kafka_version,
            "image": f"{image.reference} {image.digest}".strip() if image else "",
            "features": _pairs(identity.features),
            "config": _pairs(identity.config),
            "JVM options": " ".join(identity.jvm_options),
            "krucible": identity.krucible_commit,
            "host": f"Linux {identity.host.kernel}, {identity.host.cpus} CPUs, {identity.host.engine}",
            "began": identity.began_at,
        } | facts
    rows = [(name, _code(value).replace("|", "\\|")) for name, value in facts.items() if value]
    return table(("what", "value"), rows)


def _pairs(values: dict[str, int] | dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _most_telling(verdict: Verdict) -> list[Anomaly]:
    """Illegal ones, unexpected ids first, one of each id before a second of any."""
    illegal = [a for result in verdict.results for a in result.anomalies if a.illegal]
    seen: dict[str, int] = {}
    ranked = []
    for anomaly in illegal:
        seen[anomaly.id] = seen.get(anomaly.id, 0) + 1
        ranked.append((seen[anomaly.id], anomaly.id in verdict.expected_anomalies, anomaly))
    ranked.sort(key=lambda one: one[:2])
    return [anomaly for _, _, anomaly in ranked]


def _anomalies(verdict: Verdict) -> Iterator[str]:
    illegal = _most_telling(verdict)
    if illegal:
        yield "## Anomalies"
    for number, anomaly in enumerate(illegal[:ANOMALIES_MAX], start=1):
        subject = f" of {_code(anomaly.subject)}" if anomaly.subject else ""
        yield f"### {number}. {_code(anomaly.id)}{subject}"
        promise = f"promised: {anomaly.guarantee} ({anomaly.source})"
        yield _fenced([anomaly.summary, promise, *anomaly.explanation])
    if len(illegal) > ANOMALIES_MAX:
        yield f"And {len(illegal) - ANOMALIES_MAX} more in `verdict.json`."


def _assumptions(verdict: Verdict) -> Iterator[str]:
    unmet = [a for result in verdict.results for a in result.assumptions if not a.met]
    if unmet:
        yield "## Assumptions that were not met"
        yield _fenced(f"{a.name}: expected {a.expected}; found {a.observed}" for a in unmet)


def _code(text: str, limit: int = _VALUE_MAX) -> str:
    """A code span that holds the text whatever backticks are in it."""
    cleaned = clean(text, limit) or " "
    ticks = "`" * (_longest_run(cleaned) + 1)
    pad = " " if cleaned.startswith("`") or cleaned.endswith("`") else ""
    return f"{ticks}{pad}{cleaned}{pad}{ticks}"


def _fenced(lines: Iterable[str], language: str = "text", *, cut: bool = True) -> str:
    """A block of code whose fence is longer than anything inside."""
    kept = list(lines)
    cleaned = [clean(line, _LINE_MAX if cut else 1 << 20) for line in kept[:_LINES_MAX]]
    if len(kept) > _LINES_MAX:
        cleaned.append(f"… and {len(kept) - _LINES_MAX:,} more lines")
    body = "\n".join(cleaned)
    fence = "`" * max(3, _longest_run(body) + 1)
    return f"{fence}{language}\n{body}\n{fence}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
