"""The summary of a CI job's runs, in the terms of Kafka's CI, problems first, within GitHub's limit.

Failed: not as expected, including most unknown and all aborted runs.  Flaky: the same Kafka and schedule with
different verdicts (`results.repeats.flakes`); other seeds are other tests, and one invalid seed of twenty is
a finding. Skipped: not run, with the reason.  Quarantined: invalid, or perhaps invalid, as expected for this
version.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import msgspec

from results.campaigns.summary import Outcome, RunOutcome, Summary, summarise
from results.markup.markdown import code, escaped, number, table
from results.repeats.flakes import Comparable, comparable, minority, runs_alike
from results.run.text import seconds

ENVIRONMENT = "GITHUB_STEP_SUMMARY"
"""Environment variable with the path of the step summary; GitHub shows the content of that file."""
BYTES_MAX = 1_024 * 1_024
"""Maximum size; GitHub drops a larger step summary completely."""
_RESERVE_BYTES = 1_024
_PASSED_SHOWN_MAX = 200


class CiOutcome(StrEnum):
    """The outcome of a test in the terms of Kafka's CI."""

    FAILED = "Failed"
    FLAKY = "Flaky"
    SKIPPED = "Skipped"
    QUARANTINED = "Quarantined"
    PASSED = "Passed"


MARKS = dict(zip(CiOutcome, ("❌", "⚠️", "🙈", "😷", "✅"), strict=True))


class Skip(NamedTuple):
    """A scenario that was not run, and why."""

    name: str
    reason: str


class SummaryLine(msgspec.Struct, frozen=True):
    """All runs of one schedule on the same Kafka, and their result."""

    word: CiOutcome
    runs: tuple[RunOutcome, ...]


def sorted_out(runs: Iterable[RunOutcome]) -> tuple[SummaryLine, ...]:
    """Runs grouped by Kafka and schedule, in the order of their first runs."""
    return tuple(SummaryLine(_word(group), tuple(group)) for group in runs_alike(runs, _comparable))


def _comparable(run: RunOutcome) -> Comparable | None:
    return comparable(run.identity, run.outcome) if run.identity else None


def run_passes(run: RunOutcome) -> bool:
    """Whether a run is as expected, or valid if nothing was expected."""
    return run.outcome is Outcome.VALID if run.as_expected is None else run.as_expected


def render_step_summary(
    title: str, runs: Sequence[RunOutcome], skipped: Sequence[Skip] = (), limit_bytes: int = BYTES_MAX
) -> str:
    """The page, with a final newline, in at most `limit_bytes` bytes; it reports how much is left out.

    Args:
        title: title of the page.
        runs: all runs.
        skipped: scenarios that were skipped.
        limit_bytes: maximum size, bytes.
    """
    lines = sorted_out(runs)
    blocks = [f"## {escaped(title)}", _counts(lines, skipped), _figures(summarise(runs))]
    for word in (CiOutcome.FAILED, CiOutcome.FLAKY):
        blocks += _looked_at(word, [line for line in lines if line.word is word])
    blocks += _skipped(skipped)
    blocks += _listed(CiOutcome.QUARANTINED, [line for line in lines if line.word is CiOutcome.QUARANTINED])
    blocks += _listed(CiOutcome.PASSED, [line for line in lines if line.word is CiOutcome.PASSED])
    return _within(blocks, limit_bytes, "`krucible summary` over the artifacts")


def append_blocks(blocks: Sequence[str], path: Path, whole: str) -> None:
    """Append as many blocks of a Markdown page to a file as GitHub permits.

    Args:
        blocks: headings, paragraphs, lists and tables, in order.
        path: the file; its present content counts.
        whole: where the complete page is, if blocks are left out.

    Raises:
        OSError: if it can't be written.
    """
    there_bytes = path.stat().st_size if path.exists() else 0
    with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(_within(blocks, BYTES_MAX - there_bytes, whole))


def append_step_summary(
    title: str, runs: Sequence[RunOutcome], skipped: Sequence[Skip] = (), path: Path | None = None
) -> Path | None:
    """Append the page to a file, by default the one that the environment names, if any.

    Raises:
        OSError: if it can't be written.
    """
    named = os.environ.get(ENVIRONMENT, "")
    target = path or (Path(named) if named else None)
    if target is None:
        return None
    there_bytes = target.stat().st_size if target.exists() else 0
    page = render_step_summary(title, runs, skipped, BYTES_MAX - there_bytes)
    with target.open("a", encoding="utf-8") as file:
        file.write(page)
    return target


def _word(group: Sequence[RunOutcome]) -> CiOutcome:
    verdicts = Counter[str](run.outcome for run in group if run.outcome is not Outcome.FAILED)
    if minority(verdicts):
        return CiOutcome.FLAKY
    if not all(map(run_passes, group)):
        return CiOutcome.FAILED
    red = any(run.outcome is Outcome.INVALID or run.open_anomalies for run in group)
    return CiOutcome.QUARANTINED if red else CiOutcome.PASSED


def _counts(lines: Sequence[SummaryLine], skipped: Sequence[Skip]) -> str:
    found = {word: sum(line.word is word for line in lines) for word in CiOutcome}
    found[CiOutcome.SKIPPED] += len(skipped)
    parts = [f"{MARKS[word]} {count:,} {word}" for word, count in found.items() if count]
    runs = sum(len(line.runs) for line in lines)
    return f"**{' · '.join(parts) or 'Nothing was run'}** ({number(runs, 'run')})"


def _figures(summary: Summary) -> str:
    """Number of operations, records and faults behind the result."""
    faults = sum(total.count for total in summary.faults)
    proven = sum(total.proven for total in summary.faults)
    recovery = "" if summary.recovery is None else f"; recovery at most {seconds(summary.recovery.max_ms)}"
    sent = number(summary.sent_ok, "acknowledged record")
    return f"{sent} under {number(faults, 'fault')}, {proven:,} proven{recovery}."


def _looked_at(word: CiOutcome, lines: Sequence[SummaryLine]) -> Iterator[str]:
    """Each group with its reasons and the command that repeats it, not folded."""
    if lines:
        yield f"### {MARKS[word]} {word}"
    for line in lines:
        yield "\n".join(_run_lines(line))


def _run_lines(line: SummaryLine) -> Iterator[str]:
    first = line.runs[0]
    passed = sum(map(run_passes, line.runs))
    often = f", {passed} of {len(line.runs)} passed" if len(line.runs) > 1 else ""
    yield f"- **{_name(first)}**{often}"
    for run in line.runs:
        if not run_passes(run):
            yield f"  - {run.outcome}: `{code(run.folder)}`"
            yield from (f"    - {escaped(reason)}" for reason in run.why)
            if run.outcome is Outcome.VALID:
                yield "    - an anomaly was expected, and none was found"
    if first.identity is not None:
        yield f"  - again: `{code(first.identity.reproduce)}`"


def _skipped(skipped: Sequence[Skip]) -> Iterator[str]:
    if skipped:
        yield f"### {MARKS[CiOutcome.SKIPPED]} {CiOutcome.SKIPPED}"
        yield table(("scenario", "reason"), [(f"`{code(one.name)}`", escaped(one.reason)) for one in skipped])


def _listed(word: CiOutcome, lines: Sequence[SummaryLine]) -> Iterator[str]:
    """One row for each group, folded; only the first rows if there are many."""
    if not lines:
        return
    rows = [(_name(line.runs[0]), _anomalies(line), f"{len(line.runs):,}") for line in lines]
    shown = table(("run", "anomalies", ">runs"), rows[:_PASSED_SHOWN_MAX])
    rest = f"\n\nAnd {len(rows) - _PASSED_SHOWN_MAX:,} more." if len(rows) > _PASSED_SHOWN_MAX else ""
    head = f"{MARKS[word]} {word}: {number(len(lines), 'line')}"
    yield f"<details><summary>{head}</summary>\n\n{shown}{rest}\n\n</details>"


def _name(run: RunOutcome) -> str:
    if run.identity is None:
        return f"`{code(run.folder)}`"
    one = run.identity
    return f"{escaped(one.scenario)} on Kafka {escaped(one.kafka_version)}, seed {one.seed}"


def _anomalies(line: SummaryLine) -> str:
    illegal = {name for run in line.runs for name in run.illegal}
    perhaps = {name for run in line.runs for name in run.open_anomalies} - illegal
    return ", ".join(
        [f"`{code(name)}`" for name in sorted(illegal)]
        + [f"perhaps `{code(name)}`" for name in sorted(perhaps)]
    )


def _within(blocks: Sequence[str], limit_bytes: int, whole: str) -> str:
    """As many blocks as fit, and a sentence about the number of those left out."""
    kept: list[str] = []
    size = 0
    for position, block in enumerate(blocks):
        size += len(_bytes(block)) + 2
        if size > limit_bytes - _RESERVE_BYTES:
            left = number(len(blocks) - position, "section")
            kept.append(
                f"**Cut here**: {left} left out, because GitHub shows at most {BYTES_MAX // 1024:,} KiB of a "
                f"step. All of it: {whole}."
            )
            break
        kept.append(block)
    page = "\n\n".join(kept) + "\n\n"
    return page if len(_bytes(page)) <= limit_bytes else ""


def _bytes(text: str) -> bytes:
    """Encode for the file; texts from runs may contain lone surrogates."""
    return text.encode("utf-8", "backslashreplace")
