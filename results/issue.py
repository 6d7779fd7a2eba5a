"""``issue.md``: a run that is not as expected, told so that it can be pasted into a tracker.

Whatever comes from records and logs stands in code, where it is neither markup nor a mention of somebody.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from checkers.history.identity import RunIdentity
from checkers.verdict.verdict import Verdict
from results.causes import Cause, cause_line, first_of_kinds, illegal_causes, other_reasons, rest_text
from results.cleaning import clean
from results.junit import passes
from results.markdown import table
from results.store import write_whole
from results.text import headline, minimise_command

ISSUE_FILE = "issue.md"
CAUSES_MAX = 10
"""How many causes are told, each with its witness."""
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
    if smaller := minimise_command(folder, verdict, identity):
        blocks += ["The smallest scenario that still shows it:", _fenced([smaller], "sh", cut=False)]
    again = f"krucible check {folder}"
    blocks += [f"Judged again from what was recorded, without a cluster: {_code(again, _LINE_MAX)}"]
    return "\n\n".join(blocks) + "\n"


def _title(folder: Path, verdict: Verdict, identity: RunIdentity | None) -> str:
    causes = _most_telling(verdict)
    expected = frozenset(verdict.expected_anomalies)
    names = [*_strange(causes[0], expected), causes[0].kinds[0][0]] if causes else []
    found = _code(names[0]) if names else f"verdict {verdict.validity}"
    if identity is None:
        return f"{found} in {_code(folder.name)}"
    return f"{found} in {_code(identity.scenario)} on Kafka {_code(identity.kafka_version)}"


def _what(verdict: Verdict) -> Iterator[str]:
    yield f"**{headline(verdict)}**"
    if reasons := other_reasons(verdict):
        yield _fenced(reasons)


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


def _most_telling(verdict: Verdict) -> list[Cause]:
    """Illegal ones, those with an unexpected id first."""
    expected = frozenset(verdict.expected_anomalies)
    return sorted(illegal_causes(verdict), key=lambda cause: not _strange(cause, expected))


def _strange(cause: Cause, expected: frozenset[str]) -> list[str]:
    """Ids that the scenario does not expect, the most severe one first."""
    return [name for name, _ in cause.kinds if name not in expected]


def _anomalies(verdict: Verdict) -> Iterator[str]:
    causes = _most_telling(verdict)
    if causes:
        yield "## Anomalies"
    for number, cause in enumerate(causes[:CAUSES_MAX], start=1):
        yield f"### {number}. {_code(cause_line(cause))}"
        yield from _first_of(cause)
    if left := causes[CAUSES_MAX:]:
        yield f"And {rest_text(left)} in `verdict.json`."


def _first_of(cause: Cause) -> Iterator[str]:
    """The witness with its proof, and in a sentence the first one of each other kind."""
    for position, one in enumerate(first_of_kinds(cause)):
        anomaly = one.anomaly
        if position:
            yield _fenced([f"{anomaly.id}: {anomaly.summary}"])
        else:
            promise = f"promised: {anomaly.guarantee} ({anomaly.source})"
            yield _fenced([f"{anomaly.id}: {anomaly.summary}", promise, *anomaly.explanation])


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
