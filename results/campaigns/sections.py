"""The sections of a campaign's summary, for both the Markdown page and the HTML page."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from results.campaigns.summary import Outcome, RunOutcome, Spread, Summary
from results.markup.markdown import distinct, number
from results.run.coverage import reached
from results.run.text import seconds
from results.sections.section import Section
from results.store.judges import judged_again_by

MARKS = {Outcome.INVALID: "❌", Outcome.FAILED: "💥", Outcome.UNKNOWN: "❔", Outcome.VALID: "✅"}
ALL_RUNS = (
    "All runs are in the Markdown page and the JSON: summary.md and summary.json of a campaign, "
    "or what krucible summary prints without and with --json."
)
"""Where to find runs that a page leaves out."""
_SEEDS_MAX = 12


def title_of(summary: Summary) -> str:
    """Scenarios and versions of Kafka."""
    scenarios = distinct(run.identity.scenario for run in summary.runs if run.identity)
    versions = distinct(run.identity.kafka_version for run in summary.runs if run.identity)
    return f"{', '.join(scenarios)} on Kafka {', '.join(versions)}" if scenarios else "Campaign"


def counted(summary: Summary) -> str:
    """Number of runs, by outcome."""
    runs = number(len(summary.runs), "run")
    parts = [f"{count:,} {name}" for name, count in summary.counts.items() if count]
    line = f"{runs}, of which {', '.join(parts)}." if parts else f"{runs}."
    if summary.unexpected:
        return f"{line} {number(summary.unexpected, 'verdict')} not as expected."
    if summary.as_expected:
        return f"{line} All verdicts with an expectation are as expected."
    return line


def troubled(summary: Summary) -> list[RunOutcome]:
    """The runs with problems."""
    return [run for run in summary.runs if run.outcome is not Outcome.VALID or run.as_expected is False]


def anomaly_sections(summary: Summary) -> Iterator[Section]:
    """Anomalies by kind, and illegal ones by cause."""
    yield _anomalies(summary)
    if summary.causes:
        yield _causes(summary)


def facts_of(summary: Summary) -> Iterator[tuple[str, str]]:
    """Commits, versions, hosts, times and sums, each with a name."""
    identities = [run.identity for run in summary.runs if run.identity]
    images = (f"{i.image.reference} {i.image.digest}" for i in identities if i.image)
    hosts = (f"Linux {i.host.kernel}, {i.host.cpus} CPUs, {i.host.engine}" for i in identities)
    facts = (
        ("krucible", distinct(i.krucible_commit for i in identities)),
        ("Image", distinct(images)),
        ("Host", distinct(hosts)),
        ("First run began", sorted(distinct(i.began_at for i in identities))[:1]),
    )
    yield from ((name, ", ".join(values)) for name, values in facts if any(values))
    yield from _judged_again(summary)
    sent = f"{summary.sent_ok:,} acknowledged, {summary.sent_info:,} unknown, {summary.sent_fail:,} failed"
    yield "Records sent", sent
    yield "Recovery after healing", _spread(summary.recovery)


def _judged_again(summary: Summary) -> Iterator[tuple[str, str]]:
    """Number of runs that were recorded by one commit and judged by another, and the judging commits."""
    pairs = ((run.identity.krucible_commit, run.judged_by) for run in summary.runs if run.identity)
    commits = [again for recorded, by in pairs if (again := judged_again_by(recorded, by))]
    if commits:
        yield "Judged again", f"{number(len(commits), 'run')}, by {', '.join(distinct(commits))}"


def done_sections(summary: Summary, runs_max: int | None = None) -> Iterator[Section]:
    """Faults, reached states, how much checkers judged, and runs.

    Args:
        summary: summary of the runs.
        runs_max: maximum number of rows of runs, the newest first if there are more; None: all runs.
    """
    if summary.faults:
        yield _faults(summary)
    states = reached(run.measures.coverage for run in summary.runs if run.measures)
    if states:
        rows = tuple((one.label, f"{one.runs:,} of {one.reported:,}", f"{one.total:,}") for one in states)
        yield Section("Reached states", "", ("state", ">in runs", ">number"), rows)
    if summary.checkers:
        yield _looked(summary)
    yield _runs(summary, runs_max)


def seed_of(run: RunOutcome) -> str:
    """The run's seed; a question mark if unknown."""
    return str(run.identity.seed) if run.identity else "?"


def _anomalies(summary: Summary) -> Section:
    if not summary.anomalies:
        faults = number(sum(total.count for total in summary.faults), "fault")
        sent = number(summary.sent_ok, "acknowledged record")
        return Section("Anomalies", f"None was found in {sent} under {faults}.")
    illegal = sum(a.illegal_runs > 0 for a in summary.anomalies)
    lead = f"Illegal: {illegal:,} of {number(len(summary.anomalies), 'kind')}."
    if illegal < len(summary.anomalies):
        lead += " The others were found only where they are permitted, or may be."
    rows = tuple(
        (a.id, f"{a.count:,}", f"{len(a.seeds):,}", f"{a.illegal_runs:,}", _seeds(a.seeds))
        for a in summary.anomalies
    )
    return Section("Anomalies", lead, ("`anomaly", ">number", ">runs", ">illegal in", "seeds"), rows)


def _causes(summary: Summary) -> Section:
    """Causes of all runs, grouped by the kinds of their anomalies."""
    lead = (
        "Illegal anomalies by cause. A cause is a group of anomalies in one place and one epoch, close "
        "in time."
    )
    rows = tuple(
        (
            ", ".join(one.kinds),
            f"{one.causes:,}",
            f"{one.anomalies:,}",
            f"{len(one.seeds):,}",
            _seeds(one.seeds),
        )
        for one in summary.causes
    )
    return Section("Causes", lead, ("`kinds of one cause", ">causes", ">anomalies", ">runs", "seeds"), rows)


def _faults(summary: Summary) -> Section:
    rows = tuple(
        (total.kind, f"{total.count:,}", f"{total.proven:,}", *_spread_cells(total.unavailable))
        for total in summary.faults
    )
    note = (
        "Unavailability is the longest time in which a partition acknowledged no record, "
        "among the times that overlap the fault."
    )
    head = ("fault", ">number", ">proven", ">unavailability p50", ">max")
    return Section("Faults", "", head, rows, note)


def _looked(summary: Summary) -> Section:
    """How much each checker judged: a checker without input finds nothing."""
    rows = tuple(
        (one.checker, f"{one.runs:,} of {one.of:,}", _figures_text(one.figures)) for one in summary.checkers
    )
    head = ("checker", ">exercised in runs", "judged, sum of all runs")
    return Section("What the checkers judged", "", head, rows)


def _figures_text(figures: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in figures.items())


def _runs(summary: Summary, runs_max: int | None) -> Section:
    """One row for each shown run; a column is left out if all runs have the same value."""
    shown, lead = summary.runs, ""
    if runs_max is not None and len(shown) > runs_max:
        shown = tuple(sorted(shown, key=_newness, reverse=True)[:runs_max])
        lead = (
            f"The newest {runs_max:,} of {len(summary.runs):,} runs, the newest first; "
            f"{len(summary.runs) - runs_max:,} older ones are left out. {ALL_RUNS}"
        )
    extra = [name for name, of in _SETTINGS.items() if len({of(run) for run in summary.runs}) > 1]
    first = (*extra, ">seed", "verdict", "expected", ">faults", ">acknowledged", ">unknown", ">failed")
    last = (">longest unavailability", ">recovery", ">lasted", "anomalies", "/run")
    rows = tuple((*(_SETTINGS[name](run) for name in extra), *_run(run)) for run in shown)
    return Section("Runs", lead, first + last, rows, rows_max=len(rows))


def _newness(run: RunOutcome) -> tuple[str, str]:
    """Sort key: start time, then folder; a run without a time is the oldest."""
    return (run.identity.began_at if run.identity else "", run.folder)


def _run(run: RunOutcome) -> tuple[str, ...]:
    expected = {True: "yes", False: "no", None: ""}[run.as_expected]
    found = ", ".join(f"{count:,} {name}" for name, count in run.anomalies.items())
    return (seed_of(run), f"{MARKS[run.outcome]} {run.outcome}", expected, *_figures(run), found, run.folder)


def _scenario(run: RunOutcome) -> str:
    return run.identity.scenario if run.identity else ""


def _version(run: RunOutcome) -> str:
    return run.identity.kafka_version if run.identity else ""


def _options(run: RunOutcome) -> str:
    """Options that differ from the defaults of the scenario, as on the command line."""
    words = shlex.split(run.identity.reproduce) if run.identity else []
    after = words[words.index("--seed") + 2 :] if "--seed" in words else []
    return shlex.join(word for word in after if word not in ("--kafka-version", _version(run)))


_SETTINGS: dict[str, Callable[[RunOutcome], str]] = {
    "scenario": _scenario,
    "Kafka": _version,
    "`options": _options,
}
"""Columns that are shown if rows differ in them."""


def _figures(run: RunOutcome) -> tuple[str, ...]:
    measures = run.measures
    if measures is None:
        return ("",) * 7
    recovery = seconds(measures.recovery_ms) if measures.recovered else "none"
    sent = (measures.sent_ok, measures.sent_info, measures.sent_fail)
    counts = (f"{count:,}" for count in (len(measures.faults), *sent))
    return (*counts, seconds(measures.unavailable_ms_max), recovery, seconds(measures.duration_ms))


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return "not seen"
    return f"median {seconds(spread.median_ms)}, maximum {seconds(spread.max_ms)}"


def _spread_cells(spread: Spread | None) -> tuple[str, str]:
    return ("", "") if spread is None else (seconds(spread.median_ms), seconds(spread.max_ms))


def _seeds(seeds: Sequence[int | None]) -> str:
    shown = ", ".join("?" if seed is None else str(seed) for seed in seeds[:_SEEDS_MAX])
    return shown if len(seeds) <= _SEEDS_MAX else f"{shown} and {len(seeds) - _SEEDS_MAX} more"
