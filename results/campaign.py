"""A campaign's summary as a Markdown page: what went wrong first, then what was done, then every run."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from results.coverage import reached
from results.markdown import code, distinct, number, table, told
from results.summary import Outcome, RunOutcome, Spread, Summary
from results.text import seconds

_SEEDS_MAX = 12
_MARKS = {Outcome.INVALID: "❌", Outcome.FAILED: "💥", Outcome.UNKNOWN: "❔", Outcome.VALID: "✅"}


def render_campaign(summary: Summary) -> str:
    """The page, with a newline at its end."""
    blocks = [
        f"# {_title(summary)}",
        _decision(summary),
        *_troubles(summary),
        *_anomalies(summary),
        "## What was done",
        *what_ran(summary),
        *_faults(summary),
        *_reached(summary),
        *_looked(summary),
        "## Runs",
        _runs(summary),
    ]
    return "\n\n".join(blocks) + "\n"


def _title(summary: Summary) -> str:
    scenarios = distinct(run.identity.scenario for run in summary.runs if run.identity)
    versions = distinct(run.identity.kafka_version for run in summary.runs if run.identity)
    if not scenarios:
        return "Campaign"
    return f"{', '.join(map(told, scenarios))} on Kafka {', '.join(map(told, versions))}"


def _decision(summary: Summary) -> str:
    runs = len(summary.runs)
    parts = [f"{count:,} {name}" for name, count in summary.counts.items() if count]
    first = f"{_MARKS[summary.outcome]} **{summary.outcome.capitalize()}**: {number(runs, 'run')}"
    line = f"{first}, of which {', '.join(parts)}." if runs else f"{first}."
    if summary.unexpected:
        return f"{line} {number(summary.unexpected, 'verdict')} not as expected."
    if summary.as_expected:
        return f"{line} Every verdict that had an expectation is as expected."
    return line


def _troubles(summary: Summary) -> Iterator[str]:
    """Every run that needs a look: its reasons, and how to run it again."""
    troubled = [run for run in summary.runs if run.outcome is not Outcome.VALID or run.as_expected is False]
    if troubled:
        yield "## To look at"
    for run in troubled:
        lines = [f"- {_MARKS[run.outcome]} seed {_seed(run)}, {run.outcome}, `{code(run.folder)}`"]
        lines += [f"  - {told(reason)}" for reason in run.why]
        if run.identity is not None:
            lines.append(f"  - again: `{code(run.identity.reproduce)}`")
        yield "\n".join(lines)


def _anomalies(summary: Summary) -> Iterator[str]:
    yield "## Anomalies"
    if not summary.anomalies:
        faults = sum(total.count for total in summary.faults)
        sent = number(summary.sent_ok, "acknowledged record")
        yield f"None was found in {sent} under {number(faults, 'fault')}."
        return
    illegal = sum(a.illegal_runs > 0 for a in summary.anomalies)
    kinds = number(illegal, "kind") if illegal else "None"
    yield f"{kinds} of them against what is promised; the others were seen where they are permitted."
    rows = [
        (f"`{code(a.id)}`", f"{a.count:,}", f"{len(a.seeds):,}", f"{a.illegal_runs:,}", _seeds(a.seeds))
        for a in summary.anomalies
    ]
    yield table(("anomaly", ">number", ">runs", ">illegal in", "seeds"), rows)
    yield from _causes(summary)


def _causes(summary: Summary) -> Iterator[str]:
    """Causes of all runs, those together whose anomalies are of the same kinds."""
    if summary.causes:
        yield "The illegal ones by cause. A cause is what lies near each other in one place and one epoch."
        rows = [
            (
                ", ".join(f"`{code(kind)}`" for kind in one.kinds),
                f"{one.causes:,}",
                f"{one.anomalies:,}",
                f"{len(one.seeds):,}",
                _seeds(one.seeds),
            )
            for one in summary.causes
        ]
        yield table(("kinds of one cause", ">causes", ">anomalies", ">runs", "seeds"), rows)


def what_ran(summary: Summary) -> Iterator[str]:
    """By what, on what and when, as a list."""
    identities = [run.identity for run in summary.runs if run.identity]
    facts = (
        ("krucible", distinct(i.krucible_commit for i in identities)),
        ("Image", distinct(f"{i.image.reference} {i.image.digest}" for i in identities if i.image)),
        (
            "Host",
            distinct(f"Linux {i.host.kernel}, {i.host.cpus} CPUs, {i.host.engine}" for i in identities),
        ),
        ("First run began", sorted(distinct(i.began_at for i in identities))[:1]),
    )
    lines = [f"- {name}: {', '.join(map(told, values))}" for name, values in facts if any(values)]
    sent = f"{summary.sent_ok:,} acknowledged, {summary.sent_info:,} unknown, {summary.sent_fail:,} failed"
    lines.append(f"- Records sent: {sent}")
    lines.append(f"- Recovery after healing: {_spread(summary.recovery)}")
    yield "\n".join(lines)


def _faults(summary: Summary) -> Iterator[str]:
    if summary.faults:
        rows = [
            (told(total.kind), f"{total.count:,}", f"{total.proven:,}", *_spread_cells(total.unavailable))
            for total in summary.faults
        ]
        yield table(("fault", ">number", ">proven", ">unavailability p50", ">max"), rows)
        yield (
            "Unavailability is the longest time that any one partition acknowledged nothing, "
            "of all such times that overlap the fault."
        )


def _reached(summary: Summary) -> Iterator[str]:
    """Interesting states: what no run came near says nothing of what happens there."""
    found = reached(run.measures.coverage for run in summary.runs if run.measures)
    if found:
        rows = [(one.label, f"{one.runs:,} of {one.told:,}", f"{one.total:,}") for one in found]
        yield table(("reached", ">in runs", ">number"), rows)


def _looked(summary: Summary) -> Iterator[str]:
    """What valid rests on: a rule that looked at nothing found nothing."""
    if summary.checkers:
        yield "## What the checkers looked at"
        rows = [
            (told(one.checker), f"{one.runs:,} of {one.of:,}", _counted(one.figures))
            for one in summary.checkers
        ]
        yield table(("checker", ">exercised in runs", "looked at, all runs together"), rows)


def _counted(figures: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {told(name.replace('_', ' '))}" for name, count in figures.items())


def _runs(summary: Summary) -> str:
    """One row for each run; what is the same of all of them has no column."""
    extra = [name for name, of in _SETTINGS.items() if len({of(run) for run in summary.runs}) > 1]
    told_first = (*extra, ">seed", "verdict", "expected", ">faults", ">acknowledged", ">unknown", ">failed")
    told_last = (">longest unavailability", ">recovery", "anomalies", "folder")
    rows = [(*(_SETTINGS[name](run) for name in extra), *_run(run)) for run in summary.runs]
    return table(told_first + told_last, rows)


def _run(run: RunOutcome) -> tuple[str, ...]:
    expected = {True: "yes", False: "**no**", None: ""}[run.as_expected]
    found = ", ".join(f"{count:,} {told(name)}" for name, count in run.anomalies.items())
    first = (_seed(run), f"{_MARKS[run.outcome]} {run.outcome}", expected)
    return (*first, *_figures(run), found, f"`{code(run.folder)}`")


def _scenario(run: RunOutcome) -> str:
    return told(run.identity.scenario) if run.identity else ""


def _version(run: RunOutcome) -> str:
    return told(run.identity.kafka_version) if run.identity else ""


def _options(run: RunOutcome) -> str:
    """What was chosen otherwise than the scenario has it, as one types it."""
    words = shlex.split(run.identity.reproduce) if run.identity else []
    after = words[words.index("--seed") + 2 :] if "--seed" in words else []
    chosen = shlex.join(word for word in after if word not in ("--kafka-version", _version(run)))
    return f"`{code(chosen)}`" if chosen else ""


_SETTINGS: dict[str, Callable[[RunOutcome], str]] = {
    "scenario": _scenario,
    "Kafka": _version,
    "options": _options,
}
"""Columns that a table has if its rows differ in them."""


def _figures(run: RunOutcome) -> tuple[str, ...]:
    measures = run.measures
    if measures is None:
        return ("",) * 6
    recovery = seconds(measures.recovery_ms) if measures.recovered else "none"
    sent = (measures.sent_ok, measures.sent_info, measures.sent_fail)
    counts = (f"{count:,}" for count in (len(measures.faults), *sent))
    return (*counts, seconds(measures.unavailable_ms_max), recovery)


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return "not seen"
    return f"{seconds(spread.median_ms)} in the middle, {seconds(spread.max_ms)} at most"


def _spread_cells(spread: Spread | None) -> tuple[str, str]:
    return ("", "") if spread is None else (seconds(spread.median_ms), seconds(spread.max_ms))


def _seed(run: RunOutcome) -> str:
    return str(run.identity.seed) if run.identity else "?"


def _seeds(seeds: Sequence[int | None]) -> str:
    shown = ", ".join("?" if seed is None else str(seed) for seed in seeds[:_SEEDS_MAX])
    return shown if len(seeds) <= _SEEDS_MAX else f"{shown} and {len(seeds) - _SEEDS_MAX} more"
