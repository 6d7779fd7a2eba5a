"""Anomalies made ready for a page: numbered, cleaned, shortened, each with its witness as rows of a table."""

import msgspec
from markupsafe import Markup

from checkers.history import History, Operation
from checkers.transactions.judging import Drawn
from checkers.verdict import Anomaly, Verdict
from results.cleaning import clean, clean_value
from results.report.cycles import Key, cycles_of, drawing, key_of
from results.report.frame import at_seconds
from results.report.limits import Limits


class WitnessRow(msgspec.Struct, frozen=True):
    """An operation of a witness; all texts are clean and short."""

    index: int
    time: str
    process: str
    type: str
    f: str
    key: str
    value: str
    error: str


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """An anomaly as it is shown.

    Attributes:
        anchor: where its section is.
        number: position among those of its legality, from 1.
        time_ns: None where it has no moment.
        witness: None for an operation that is not in the history at hand.
        witness_left_out: how many operations are not shown.
        explanation_left_out: how many lines are not shown.
        drawing: of the cycle that it is; None where it is none, or one too many.
    """

    anchor: str
    number: int
    id: str
    checker: str
    illegal: bool
    summary: str
    guarantee: str
    source: str
    subject: str
    time: str
    time_ns: int | None
    explanation: tuple[str, ...]
    explanation_left_out: int
    witness: tuple[WitnessRow, ...]
    witness_left_out: int
    licence: str
    drawing: Markup | None = None


class Findings(msgspec.Struct, frozen=True):
    """All anomalies of a verdict as they are shown.

    Attributes:
        left_out: how many listed ones did not find room.
        cycles_left_out: how many of those shown are cycles that are not drawn.
    """

    illegal: tuple[Finding, ...]
    legal: tuple[Finding, ...]
    left_out: int
    cycles_left_out: int

    @property
    def all(self) -> tuple[Finding, ...]:
        """Illegal ones first."""
        return self.illegal + self.legal


def findings_of(verdict: Verdict, history: History, limits: Limits) -> Findings:
    """Choose and prepare what is shown: illegal anomalies before legal ones, each in order of time."""
    listed = [(result.checker, anomaly) for result in verdict.results for anomaly in result.anomalies]
    listed.sort(key=lambda entry: (not entry[1].illegal, entry[1].time_ns is None, entry[1].time_ns or 0))
    shown = listed[: limits.anomalies]
    cycles = cycles_of(verdict)
    circular = [key for key in (key_of(*entry) for entry in shown) if key in cycles]
    drawn = {key: cycles[key] for key in circular[: limits.cycles]}
    return Findings(
        illegal=_numbered([entry for entry in shown if entry[1].illegal], drawn, history, limits),
        legal=_numbered([entry for entry in shown if not entry[1].illegal], drawn, history, limits),
        left_out=len(listed) - len(shown),
        cycles_left_out=len(circular) - len(drawn),
    )


def _numbered(
    listed: list[tuple[str, Anomaly]], drawn: dict[Key, Drawn], history: History, limits: Limits
) -> tuple[Finding, ...]:
    found = []
    for number, (checker, anomaly) in enumerate(listed, start=1):
        finding = _finding(number, checker, anomaly, history, limits)
        if (cycle := drawn.get(key_of(checker, anomaly))) is not None:
            finding = msgspec.structs.replace(finding, drawing=drawing(cycle, limits.text))
        found.append(finding)
    return tuple(found)


def _finding(number: int, checker: str, anomaly: Anomaly, history: History, limits: Limits) -> Finding:
    said, shown = anomaly.explanation[: limits.explanation], anomaly.witness[: limits.witness]
    operations = history.operations
    witness = tuple(_row(operations[i], limits) for i in shown if 0 <= i < len(operations))
    kind = "anomaly" if anomaly.illegal else "legal"
    return Finding(
        anchor=f"{kind}-{number}",
        number=number,
        id=clean(anomaly.id, 60),
        checker=clean(checker, 60),
        illegal=anomaly.illegal,
        summary=clean(anomaly.summary, limits.text),
        guarantee=clean(anomaly.guarantee, limits.text),
        source=clean(anomaly.source, limits.text),
        subject=clean(anomaly.subject or "", limits.cell),
        time="" if anomaly.time_ns is None else at_seconds(anomaly.time_ns),
        time_ns=anomaly.time_ns,
        explanation=tuple(clean(line, limits.text) for line in said),
        explanation_left_out=len(anomaly.explanation) - len(said),
        witness=witness,
        witness_left_out=len(anomaly.witness) - len(witness),
        licence=clean(anomaly.licence or "", limits.text),
    )


def _row(operation: Operation, limits: Limits) -> WitnessRow:
    return WitnessRow(
        index=operation.index,
        time=f"{operation.time_ns / 1e9:,.6f}",
        process=clean(str(operation.process), 30),
        type=operation.type.value,
        f=clean(operation.f, 30),
        key=clean_value(operation.key, limits.cell // 2),
        value=clean_value(operation.value, limits.cell),
        error=clean(operation.error or "", limits.cell),
    )
