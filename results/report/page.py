"""Renders the page of a report and writes it."""

import base64
import hashlib
from pathlib import Path

import jinja2
import msgspec
from markupsafe import Markup

from checkers.history.identity import KrucibleIdentity, RunIdentity
from checkers.history.operations import History
from checkers.verdict.verdict import Validity, Verdict
from results.markup.cleaning import clean
from results.report.cards.cards import cards_of
from results.report.cards.chronology import Chronology
from results.report.cards.pictures import Pictures
from results.report.cards.witness import Witnessed, witnessed
from results.report.drawing import glyphs
from results.report.reading.history_files import HistoryFile, in_order, outcome_lines
from results.report.reading.spans import left_out_text
from results.report.size_limits import PAGE_BYTES_MAX, STEPS, DisplayLimits
from results.report.tables import tables
from results.report.tables.gambits import gambit_rows
from results.report.tables.logs import log_table
from results.report.timeline.timeline import timeline
from results.report.topology import topology
from results.run.causes import other_reasons
from results.run.measures import Measures, measure
from results.run.observation import Observed, observe
from results.run.text import expectation, figures
from results.store.judges import UNKNOWN
from results.store.runs import REPORT_FILE, write_whole

TEMPLATES = Path(__file__).parent / "templates"
_STYLES = ("report.css", "timeline.css", "topology.css")
_SCRIPTS = ("report.js", "timeline.js", "topology.js")
_WORDS = {
    Validity.VALID: "Valid",
    Validity.INVALID: "Invalid",
    Validity.UNKNOWN: "Unknown",
}


_UNTIMED = (
    "The file does not have the time of every operation. The page shows only their order, and times in the "
    "texts of checkers mean nothing."
)


class _Run(msgspec.Struct, frozen=True):
    """Input of a page."""

    history: History
    observed: Observed
    measures: Measures
    verdict: Verdict
    identity: RunIdentity | HistoryFile | None
    seen: Witnessed
    chronology: Chronology | None
    by: KrucibleIdentity

    @property
    def run(self) -> RunIdentity | None:
        """The identity of the run; None if it could not be read, or if a file was judged."""
        return self.identity if isinstance(self.identity, RunIdentity) else None

    @property
    def file(self) -> HistoryFile | None:
        """The file that was judged; None for a run."""
        return self.identity if isinstance(self.identity, HistoryFile) else None


def write_report(
    folder: Path,
    history: History,
    verdict: Verdict,
    identity: RunIdentity | None = None,
    by: KrucibleIdentity = UNKNOWN,
) -> Path:
    """Write ``report.html`` into a run's folder, atomically.

    Args:
        folder: the run's folder.
        history: as read; it may be damaged or almost empty.
        verdict: its verdict.
        identity: None if ``run.json`` could not be read.
        by: the krucible that gave the verdict.

    Raises:
        OSError: if it can't be written.
    """
    return write_page(folder / REPORT_FILE, history, verdict, identity, by)


def write_page(
    path: Path,
    history: History,
    verdict: Verdict,
    identity: RunIdentity | HistoryFile | None,
    by: KrucibleIdentity = UNKNOWN,
) -> Path:
    """Write the page of a run, or of a file with a history, to any file, as `write_report` does."""
    page = render_report(history, verdict, identity, by)
    return write_whole(path, page.encode("utf-8", "backslashreplace"))


def render_report(
    history: History,
    verdict: Verdict,
    identity: RunIdentity | HistoryFile | None = None,
    by: KrucibleIdentity = UNKNOWN,
) -> str:
    """The page as text, at most `PAGE_BYTES_MAX` bytes of UTF-8; a page that is larger is reduced.

    The page of a file shows what the file has.  What only a run's folder has is left out.
    """
    file = identity if isinstance(identity, HistoryFile) else None
    if file is not None and not file.timed:
        history, verdict = in_order(history, verdict)
    observed = observe(history)
    seen = witnessed(history, observed.faults, file)
    chronology = None
    if seen.timed:
        chronology = Chronology(history, seen.faults, observed.claims, licensed=file is None)
    run = _Run(history, observed, measure(observed, verdict), verdict, identity, seen, chronology, by)
    page = ""
    for limits in STEPS:
        page = _rendered(run, limits)
        if len(page.encode("utf-8", "replace")) <= PAGE_BYTES_MAX:
            break
    return page


def _rendered(run: _Run, limits: DisplayLimits) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["left_out_text"] = left_out_text
    return environment.get_template("report.html.j2").render(_context(run, limits))


def _context(run: _Run, limits: DisplayLimits) -> dict[str, object]:
    pictures = None if run.file else Pictures(run.history, run.seen.calls, run.observed, limits)
    found = cards_of(run.verdict, run.seen, limits, run.chronology, pictures)
    style, script = _files(*_STYLES), _files(*_SCRIPTS)
    return {
        "style": style,
        "style_hash": _hash(style),
        "script": script,
        "script_hash": _hash(script),
        "name": _name(run),
        "word": _WORDS[run.verdict.validity],
        "validity": run.verdict.validity.value,
        "expectation": "" if run.file else _sentence(expectation(run.verdict)),
        "as_expected": run.verdict.as_expected,
        "reasons": [clean(reason, limits.text) for reason in other_reasons(run.verdict)[: limits.rows]],
        "caveats": _caveats(run, limits),
        "figures": outcome_lines(run.file, run.seen.calls, limits.rows)
        if run.file
        else figures(run.measures),
        "verdict_place": "the output of krucible check --json" if run.file else "verdict.json",
        "timed": run.seen.timed,
        "has_lines": bool(run.file and run.file.lines),
        "counts": tables.count_rows(run.verdict, limits),
        "found": found,
        "timeline": timeline(run.observed, found.all, limits, run.seen.calls, timed=run.seen.timed),
        "topology": topology(run.observed, limits),
        "glyphs": glyphs,
        **_tables(run, limits),
    }


def _tables(run: _Run, limits: DisplayLimits) -> dict[str, object]:
    identity, file = run.run, run.file
    rows = tables.identity_rows(identity, limits, run.by) if identity else ()
    return {
        "checkers": tables.checker_rows(run.verdict, limits),
        "assumptions": tables.assumption_rows(run.verdict, limits),
        "faults": tables.fault_rows(run.observed, run.measures, limits),
        "has_faults": file is None or bool(run.observed.faults),
        "gambits": gambit_rows(run.observed, limits),
        "logs": log_table(run.observed, limits, run.history.began_at),
        "reproduce": clean(identity.reproduce, 4_000) if identity else "",
        "command": clean(" ".join(identity.argv), 4_000) if identity else "",
        "identity_title": "What was judged" if file else "What ran",
        "identity": tables.file_rows(file, limits, run.by) if file else rows,
        "checksums": tables.checksum_rows(identity, limits) if identity else (),
    }


def _name(run: _Run) -> tuple[str, ...]:
    """Scenario, version, seed and seeded bug, as far as they are known; or a file and its workload."""
    identity, file = run.run, run.file
    if file is not None:
        held_to = (file.model,) if file.model not in {None, file.workload} else ()
        return tuple(clean(str(part), 120) for part in (Path(file.path).name, file.workload, *held_to))
    if identity is None:
        return (f"run {clean(run.history.run, 40) or 'without a name'}",)
    return (
        clean(identity.scenario, 120),
        f"Kafka {clean(identity.kafka_version, 40)}",
        f"seed {identity.seed}",
        *((f"seeded bug {clean(identity.seeded_bug, 80)}",) if identity.seeded_bug else ()),
    )


def _caveats(run: _Run, limits: DisplayLimits) -> list[str]:
    """What limits the trust in the rest of the page."""
    caveats = [
        f"The history is damaged: {clean(text, limits.text)}." for text in run.history.damage[: limits.rows]
    ]
    if run.file is not None:
        caveats += [clean(f"{text}.", limits.text) for text in run.file.warnings[: limits.rows]]
        if not run.file.timed:
            caveats.append(_UNTIMED)
        return caveats + _not_drawn(run)
    if run.identity is None:
        caveats.append("The run's identity could not be read, so there is no line that reproduces it.")
    if not run.observed.setup:
        caveats.append("The history has no setup, so it is unknown what ran.")
    return caveats + _not_drawn(run)


def _not_drawn(run: _Run) -> list[str]:
    count = run.observed.misfits
    return [f"{count:,} operations have an unexpected shape and are not drawn."] if count else []


def _sentence(text: str) -> str:
    sentence = clean(text, 400)
    return sentence[:1].upper() + sentence[1:]


def _files(*names: str) -> Markup:
    """The given styles or scripts of krucible, without indents and comments."""
    lines = (line.strip() for name in names for line in (TEMPLATES / name).read_text("utf-8").splitlines())
    kept = (line for line in lines if line and not line.startswith("//"))
    return Markup("\n".join(kept))  # noqa: S704 - shipped with krucible, not from a run


def _hash(content: str) -> str:
    """Hash of a style or script for the page's content security policy, which permits no other one."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
