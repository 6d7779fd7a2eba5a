"""The last lines of a run as plain text: verdict, reasons, numbers, folder, and next commands."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from checkers.history.identity import KrucibleIdentity, RunIdentity
from checkers.history.units import NS_PER_S
from checkers.judge import accepted, open_ids
from checkers.verdict.verdict import VERDICTS, Validity, Verdict
from results.markup.cleaning import clean
from results.run.alike import alike
from results.run.causes import Cause, causes_of, other_reasons, rest_text, severity
from results.run.coverage import coverage_line
from results.run.measures import Measures
from results.store.commands import option_of_store_of
from results.store.judges import UNKNOWN, judged_again_by
from results.store.runs import REPORT_FILE

LABEL_WIDTH = 11
_TEXT_MAX = 240
_PATH_MAX = 4_096
_FIGURES_MAX = 1_000
"""Characters of the line with the numbers of each kind of operation."""
_REASONS_MAX = 6
_NO_IDENTITY = "not known: run.json is missing or damaged, and it alone has the command of the run"
_ASSUMPTIONS_PAGE = "docs/assumptions.md says what to do about each reason"
_CAUSES_MAX = 8
_SECONDS_FROM_MS = 1_000


class LabelledLine(NamedTuple):
    """A line with its label, which may be empty; a terminal can colour the line by its label."""

    label: str
    text: str


def closing_text(
    folder: Path,
    verdict: Verdict,
    identity: RunIdentity | None = None,
    measures: Measures | None = None,
    by: KrucibleIdentity = UNKNOWN,
) -> str:
    """The last lines of a run, with aligned labels, without a final newline."""
    lines = closing_lines(folder, verdict, identity, measures, by)
    return "\n".join(f"{line.label:<{LABEL_WIDTH}}{line.text}".rstrip() for line in lines)


def closing_lines(
    folder: Path,
    verdict: Verdict,
    identity: RunIdentity | None = None,
    measures: Measures | None = None,
    by: KrucibleIdentity = UNKNOWN,
) -> tuple[LabelledLine, ...]:
    """The last lines of a run.

    Args:
        folder: the run's folder, as it should be shown.
        verdict: the verdict.
        identity: the run's identity; None if ``run.json`` could not be read.
        measures: the run's numbers; None without a history.
        by: the krucible that gave the verdict.
    """
    lines = [LabelledLine("verdict", headline(verdict)), *_labelled("why", _reasons(other_reasons(verdict)))]
    lines += _labelled("anomalies", _anomalies(verdict))
    lines += _labelled("checkers", _checkers(verdict))
    if measures is not None:
        lines += _labelled("figures", figures(measures))
    if identity is not None:
        lines.append(LabelledLine("run", identity_line(identity)))
        if again := judged_again_by(identity.krucible_commit, by):
            text = f"judged again by {again}, recorded by {identity.krucible_commit}"
            lines.append(LabelledLine("krucible", clean(text, _TEXT_MAX)))
    place = clean(str(folder), _PATH_MAX)
    lines += [
        LabelledLine("folder", place),
        LabelledLine("report", f"{place}/{REPORT_FILE}   ({_how_to_read(verdict)})"),
    ]
    if identity is None:
        lines.append(LabelledLine("reproduce", _NO_IDENTITY))
    else:
        again = f"{clean(identity.reproduce, 2_000)}{option_of_store_of(folder, identity)}"
        lines.append(LabelledLine("reproduce", again))
    if smaller := minimise_command(folder, verdict, identity):
        lines.append(LabelledLine("minimise", smaller))
    elif verdict.validity is not Validity.INVALID and identity is not None:
        others = f"krucible list --scenario {clean(shlex.quote(identity.scenario), _TEXT_MAX)}"
        lines.append(LabelledLine("next", f"{others}{option_of_store_of(folder, identity)}"))
    return tuple(lines)


def minimise_command(folder: Path, verdict: Verdict, identity: RunIdentity | None) -> str:
    """The command that minimises an invalid run; empty if there is nothing to repeat."""
    if verdict.validity is not Validity.INVALID or identity is None:
        return ""
    store = option_of_store_of(folder, identity)
    return f"krucible minimise {clean(shlex.quote(str(folder)), _PATH_MAX)}{store}"


def headline(verdict: Verdict) -> str:
    """The verdict in capitals, and how it compares with the expectation."""
    return f"{verdict.validity.upper()} ({expectation(verdict)})"


def expectation(verdict: Verdict) -> str:
    """How a verdict compares with its scenario's expectation, as a short text."""
    if verdict.expected is None:
        return "nothing was expected"
    wanted = verdict.expected.value
    strange = unexpected(verdict)
    if verdict.expected_anomalies:
        with_these = "with" if verdict.expected is Validity.INVALID else "or invalid with nothing but"
        wanted += f" {with_these} {' or '.join(verdict.expected_anomalies)}"
    if verdict.as_expected:
        return f"as expected: {wanted}{_left_open(verdict)}"
    if strange:
        return f"{wanted} was expected, not {', '.join(strange)}"
    undecided = ", and not all could be decided" if accepted(verdict) else ""
    return f"{wanted} was expected{undecided}"


def _left_open(verdict: Verdict) -> str:
    """What is unknown about a run that is as expected, as the end of a sentence; empty if nothing is."""
    left_open = open_ids(verdict.results) if verdict.validity is Validity.UNKNOWN else ()
    return f"; it is unknown only whether {' or '.join(sorted(left_open))} is permitted" if left_open else ""


def unexpected(verdict: Verdict) -> tuple[str, ...]:
    """Kinds of illegal anomalies that a scenario with expected kinds does not expect, most severe first."""
    if not verdict.expected_anomalies or verdict.as_expected:
        return ()
    kinds = {name for cause in causes_of(verdict) if cause.illegal for name, _ in cause.kinds}
    return tuple(sorted(kinds.difference(verdict.expected_anomalies), key=severity))


def identity_line(identity: RunIdentity) -> str:
    """Scenario, version and seed on one line."""
    bug = f" · seeded bug {identity.seeded_bug}" if identity.seeded_bug else ""
    return clean(
        f"{identity.scenario} · Kafka {identity.kafka_version} · seed {identity.seed}{bug}", _TEXT_MAX
    )


def figures(measures: Measures) -> tuple[str, ...]:
    """The numbers of a run, one line each."""
    sent = (
        f"{measures.sent_ok:,} records acknowledged, {measures.sent_fail:,} failed, "
        f"{measures.sent_info:,} unknown; {measures.polled:,} polled, "
        f"{measures.read_finally:,} read at the end"
    )
    reached = coverage_line(measures.coverage)
    return (
        *(
            [f"{measures.starts} starts of the cluster: see starts/ in the folder"]
            if measures.starts > 1
            else []
        ),
        sent,
        *_other_figures(measures),
        _fault_figures(measures),
        *([f"reached {reached}"] if reached else []),
        _recovery_figure(measures),
    )


def seconds(milliseconds: int | None) -> str:
    """A duration as text: ``380 ms``, ``4.2 s`` or ``not known``."""
    if milliseconds is None:
        return "not known"
    if milliseconds < _SECONDS_FROM_MS:
        return f"{milliseconds} ms"
    return f"{milliseconds / _SECONDS_FROM_MS:,.1f} s"


def at_seconds(time_ns: int) -> str:
    """A time as text, e.g. ``12.3 s``."""
    return f"{time_ns / NS_PER_S:,.1f} s"


def _other_figures(measures: Measures) -> Iterator[str]:
    """Client operations other than sends and reads of records, in one line; nothing if there are none."""
    figures = (
        f"{clean(name, _TEXT_MAX)} {', '.join(f'{count:,} {outcome}' for outcome, count in counts.items())}"
        for name, counts in sorted(measures.others.items())
    )
    line = "; ".join(figures)
    if line:
        yield clean(line, _FIGURES_MAX)


def _fault_figures(measures: Measures) -> str:
    count = len(measures.faults)
    if not count:
        return "no fault was recorded"
    proven = sum(fault.proven for fault in measures.faults)
    word = "fault" if count == 1 else "faults"
    return f"{count} {word}, {proven} proven; longest unavailability {seconds(measures.unavailable_ms_max)}"


def _recovery_figure(measures: Measures) -> str:
    if measures.recovered is None:
        return "the run ended before the recovery"
    took = seconds(measures.recovery_ms)
    return f"recovered in {took}" if measures.recovered else f"not recovered within {took}"


def _reasons(reasons: Sequence[str]) -> Iterator[str]:
    for reason in reasons[:_REASONS_MAX]:
        yield clean(reason, _TEXT_MAX)
    if len(reasons) > _REASONS_MAX:
        yield f"and {len(reasons) - _REASONS_MAX} more reasons in verdict.json"


def _anomalies(verdict: Verdict) -> Iterator[str]:
    """A line for each illegal cause, with its first witness; for legal anomalies, a line for each id."""
    causes = causes_of(verdict)
    if not causes:
        yield "none found"
    illegal = [cause for cause in causes if cause.illegal]
    groups = alike(illegal)
    for group in groups[:_CAUSES_MAX]:
        yield clean(group.line(), _TEXT_MAX)
        if group.first.witness is not None:
            yield f"  {clean(group.first.witness.anomaly.summary, _TEXT_MAX)}"
    if left := [cause for group in groups[_CAUSES_MAX:] for cause in group.causes]:
        yield f"and {rest_text(left)} in the report"
    yield from _legal([cause for cause in causes if not cause.illegal])


def _legal(causes: Sequence[Cause]) -> Iterator[str]:
    """One line for each id: number of anomalies, and the first one."""
    counts = Counter[str]()
    examples: dict[str, str] = {}
    for cause in causes:
        counts.update(dict(cause.kinds))
        for one in cause.shown:
            examples.setdefault(one.anomaly.id, f": {one.anomaly.summary}")
    for name, count in sorted(counts.items()):
        yield clean(f"{count:,} {name} (legal){examples.get(name, '')}", _TEXT_MAX)


def _checkers(verdict: Verdict) -> Iterator[str]:
    """Number of checkers by result, and the checkers that had nothing to judge."""
    counts = Counter(result.validity for result in verdict.results)
    idle = [result.checker for result in verdict.results if result.validity is Validity.NOT_EXERCISED]
    parts = [f"{counts[validity]} {validity}" for validity in VERDICTS if counts[validity]]
    if idle:
        parts.append(f"not exercised: {', '.join(idle)}")
    if parts:
        yield clean("; ".join(parts), _TEXT_MAX)


def _labelled(label: str, texts: Iterator[str] | tuple[str, ...]) -> list[LabelledLine]:
    """Lines of which only the first has the label."""
    return [LabelledLine("" if position else label, text) for position, text in enumerate(texts)]


def _how_to_read(verdict: Verdict) -> str:
    how = "open it in a browser"
    return f"{how}; {_ASSUMPTIONS_PAGE}" if verdict.validity is Validity.UNKNOWN else how
