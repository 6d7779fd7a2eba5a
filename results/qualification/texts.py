"""A qualification as Markdown, as JSON, and as six lines for a vote mail."""

from collections.abc import Iterator

import msgspec

from results.campaigns.track_record import ExpectationStatus
from results.markup.cleaning import clean
from results.markup.markdown import code, distinct, escaped, number
from results.markup.trackers import MARKUPS, Format
from results.qualification.compared import Comparisons
from results.qualification.comparison_sections import percent
from results.qualification.deciding import Decision
from results.qualification.finding import CandidateAnomaly
from results.qualification.model import Qualification, TriedBuild
from results.qualification.sections import facts_of, identity_of, sections_of
from results.run.text import seconds
from results.sections.markdown import section_blocks

COLUMNS = 100
"""Maximum width of a line of the mail."""
LINES = 6
MAIL_TITLE = "Text for a vote mail"
_NAME_MAX = 40
_COMMIT = 9
"""Number of characters of a commit in the mail."""
_PROOF_MAX = 12
_MARKS = {Decision.QUALIFIED: "✅", Decision.NOT_QUALIFIED: "❌", Decision.INCONCLUSIVE: "❔"}


def title_of(result: Qualification) -> str:
    """Candidate, baseline and preset."""
    against = f" against {_asked(result.baseline)}" if result.baseline else ""
    return f"Kafka {_asked(result.candidate)}{against}, preset {clean(result.preset, _NAME_MAX)}"


def encode_qualification(result: Qualification) -> bytes:
    """All data as JSON, including rows that the pages leave out."""
    return msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"


def render_text(result: Qualification) -> str:
    """Six lines of at most `COLUMNS` characters for a mail, with a final newline."""
    lines = (
        f"{result.decision}: {title_of(result)}{_day(result)}",
        f"Why: {result.why}",
        f"{number(len(result.gaps), 'gap')}, first: {result.gaps[0]}" if result.gaps else "No gap is known.",
        result.claim,
        _against(result),
        _source(result),
    )
    return "".join(f"{_cut(line)}\n" for line in lines)


def render_markdown(result: Qualification) -> str:
    """The page, with a final newline."""
    return "\n\n".join(markdown_blocks(result)) + "\n"


def markdown_blocks(result: Qualification) -> list[str]:
    """The headings, paragraphs, lists and tables of the page, in order."""
    blocks = [
        f"# Qualification of {escaped(title_of(result))}",
        f"{_MARKS[result.decision]} **{result.decision}**",
        f"Why: {escaped(result.why)}",
        *_reasons(result),
        "## What this can't say",
        "\n".join(f"- {escaped(gap)}" for gap in result.gaps) or "No gap is known.",
        *section_blocks(identity_of(result)),
        "## What was found",
        result.claim,
        *map(_found, result.found),
        *(block for section in sections_of(result) for block in section_blocks(section)),
        f"## {MAIL_TITLE}",
        MARKUPS[Format.MARKDOWN].block(render_text(result).splitlines(), cut=False),
        "## The rule",
        result.rule,
    ]
    if result.generated_at:
        blocks.append(f"The last run ended at {escaped(result.generated_at)}.")
    return blocks


def _reasons(result: Qualification) -> Iterator[str]:
    if result.reasons:
        yield "\n".join(f"- {escaped(reason.makes)}: {escaped(reason.text)}" for reason in result.reasons)


def _found(found: CandidateAnomaly) -> str:
    where = f"{found.scenario} ({found.mode})" if found.mode else found.scenario
    lines = [f"### `{code(found.id)}` in {escaped(where)}", "", escaped(found.example.summary), ""]
    lines += [f"- {label}: {escaped(text)}" for label, text in facts_of(found)]
    lines += [f"- again: `{code(found.command)}`"]
    lines += [f"- proof: {escaped(line)}" for line in found.example.explanation[:_PROOF_MAX]]
    return "\n".join(lines)


def _against(result: Qualification) -> str:
    """The result of the comparison, with the differences that it could detect."""
    if result.baseline is None:
        return "No baseline."
    compared, against = result.comparisons, f"Against {_asked(result.baseline)}"
    if not (compared.durations or compared.shares):
        return f"{against}: nothing could be compared."
    if worse := compared.worse():
        tests = number(compared.tests(), "test")
        return f"{against}: {number(len(worse), 'thing')} worse ({tests}): {'; '.join(worse)}"
    silent = len(compared.too_few()) + len(compared.blind())
    if not compared.tried():
        return f"{against}: too few runs to show any difference ({number(silent, 'comparison')})."
    could = f"could detect {_detectable(compared)}"
    if compared.weak() or silent:
        some = f"; in {silent:,} of {silent + compared.tried():,} nothing" if silent else ""
        return f"{against}: saw no difference; {could}{some}."
    return f"{against}: nothing worse ({number(compared.tried(), 'test')}; {could})."


def _detectable(compared: Comparisons) -> str:
    """Detectable differences, smallest and largest of each kind; `nothing` if none."""
    shifts = sorted(one.detectable_ms for one in compared.durations if one.detectable_ms is not None)
    shares = sorted(one.detectable for one in compared.shares if one.detectable is not None)
    parts = [f"≥ {' to '.join(distinct(map(seconds, (shifts[0], shifts[-1]))))}"] if shifts else []
    parts += [f"shares ≥ {' to '.join(distinct(map(percent, (shares[0], shares[-1]))))}"] if shares else []
    return ", ".join(parts) or "nothing"


def _day(result: Qualification) -> str:
    return f", {result.generated_at[:10]}" if result.generated_at else ""


def _source(result: Qualification) -> str:
    """Result of the controls, and the versions of krucible and the image."""
    good = sum(side.standing is ExpectationStatus.AS_EXPECTED for side in result.controls)
    silent, runs = sum(one.count for one in result.undecided), sum(one.of for one in result.undecided)
    commit = clean(", ".join(result.commits[:1]), _NAME_MAX)[:_COMMIT] or "unknown"
    images = result.candidate.images
    digest = next((word for image in images for word in image.split(", ") if word.startswith("sha256:")), "")
    image = f", {clean(digest, 19).split('…')[0]}" if digest else ""
    controls = f"Controls {good} of {len(result.controls)} as expected"
    return f"{controls}; no verdict in {silent:,} of {number(runs, 'run')}; krucible {commit}{image}"


def _asked(build: TriedBuild) -> str:
    return clean(build.asked, _NAME_MAX)


def _cut(line: str) -> str:
    """The line, or as many of its words as fit; a first word that is too long is cut itself."""
    shown = clean(line, 10 * COLUMNS)
    if len(shown) <= COLUMNS:
        return shown
    words = shown[: COLUMNS - 1].rpartition(" ")[0]
    return f"{words} …" if words else f"{shown[: COLUMNS - 1]}…"
