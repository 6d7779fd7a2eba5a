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


def title_of(said: Qualification) -> str:
    """Candidate, baseline and preset."""
    against = f" against {_asked(said.baseline)}" if said.baseline else ""
    return f"Kafka {_asked(said.candidate)}{against}, preset {clean(said.preset, _NAME_MAX)}"


def encode_qualification(said: Qualification) -> bytes:
    """All data as JSON, including rows that the pages leave out."""
    return msgspec.json.format(msgspec.json.encode(said), indent=2) + b"\n"


def render_text(said: Qualification) -> str:
    """Six lines of at most `COLUMNS` characters for a mail, with a final newline."""
    lines = (
        f"{said.decision}: {title_of(said)}{_day(said)}",
        f"Why: {said.why}",
        f"{number(len(said.gaps), 'gap')}, first: {said.gaps[0]}" if said.gaps else "No gap is known.",
        said.claim,
        _against(said),
        _source(said),
    )
    return "".join(f"{_cut(line)}\n" for line in lines)


def render_markdown(said: Qualification) -> str:
    """The page, with a final newline."""
    return "\n\n".join(markdown_blocks(said)) + "\n"


def markdown_blocks(said: Qualification) -> list[str]:
    """The headings, paragraphs, lists and tables of the page, in order."""
    blocks = [
        f"# Qualification of {escaped(title_of(said))}",
        f"{_MARKS[said.decision]} **{said.decision}**",
        f"Why: {escaped(said.why)}",
        *_reasons(said),
        "## What this can't say",
        "\n".join(f"- {escaped(gap)}" for gap in said.gaps) or "No gap is known.",
        *section_blocks(identity_of(said)),
        "## What was found",
        said.claim,
        *map(_found, said.found),
        *(block for section in sections_of(said) for block in section_blocks(section)),
        f"## {MAIL_TITLE}",
        MARKUPS[Format.MARKDOWN].block(render_text(said).splitlines(), cut=False),
        "## The rule",
        said.rule,
    ]
    if said.generated_at:
        blocks.append(f"The last run ended at {escaped(said.generated_at)}.")
    return blocks


def _reasons(said: Qualification) -> Iterator[str]:
    if said.reasons:
        yield "\n".join(f"- {escaped(reason.makes)}: {escaped(reason.text)}" for reason in said.reasons)


def _found(found: CandidateAnomaly) -> str:
    where = f"{found.scenario} ({found.mode})" if found.mode else found.scenario
    lines = [f"### `{code(found.id)}` in {escaped(where)}", "", escaped(found.example.summary), ""]
    lines += [f"- {label}: {escaped(text)}" for label, text in facts_of(found)]
    lines += [f"- again: `{code(found.command)}`"]
    lines += [f"- proof: {escaped(line)}" for line in found.example.explanation[:_PROOF_MAX]]
    return "\n".join(lines)


def _against(said: Qualification) -> str:
    """The result of the comparison, with the differences that it could detect."""
    if said.baseline is None:
        return "No baseline."
    compared, against = said.comparisons, f"Against {_asked(said.baseline)}"
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
    told = [f"≥ {' to '.join(distinct(map(seconds, (shifts[0], shifts[-1]))))}"] if shifts else []
    told += [f"shares ≥ {' to '.join(distinct(map(percent, (shares[0], shares[-1]))))}"] if shares else []
    return ", ".join(told) or "nothing"


def _day(said: Qualification) -> str:
    return f", {said.generated_at[:10]}" if said.generated_at else ""


def _source(said: Qualification) -> str:
    """Result of the controls, and the versions of krucible and the image."""
    good = sum(side.standing is ExpectationStatus.AS_EXPECTED for side in said.controls)
    silent, runs = sum(one.count for one in said.undecided), sum(one.of for one in said.undecided)
    commit = clean(", ".join(said.commits[:1]), _NAME_MAX)[:_COMMIT] or "unknown"
    images = said.candidate.images
    digest = next((word for image in images for word in image.split(", ") if word.startswith("sha256:")), "")
    image = f", {clean(digest, 19).split('…')[0]}" if digest else ""
    controls = f"Controls {good} of {len(said.controls)} as expected"
    return f"{controls}; no verdict in {silent:,} of {number(runs, 'run')}; krucible {commit}{image}"


def _asked(build: TriedBuild) -> str:
    return clean(build.asked, _NAME_MAX)


def _cut(line: str) -> str:
    shown = clean(line, 10 * COLUMNS)
    return shown if len(shown) <= COLUMNS else f"{shown[: COLUMNS - 1]}…"
