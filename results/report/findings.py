"""Anomalies made ready for a page: numbered, cleaned, shortened, each with its witness as rows of a table."""

import msgspec
from markupsafe import Markup

from checkers.history.operations import History, Operation
from checkers.verdict.verdict import Anomaly, Verdict
from results.cleaning import clean, clean_value
from results.report.cycles import cycles_of, drawing, key_of
from results.report.frame import at_seconds
from results.report.limits import Limits
from results.report.witness import Witnessed, draw_witness


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
        drawing: of the cycle that it is, or else of its witness; None where it has none, or one too many.
        circular: whether that is a cycle.
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
    circular: bool = False


class Findings(msgspec.Struct, frozen=True):
    """All anomalies of a verdict as they are shown.

    Attributes:
        left_out: how many listed ones did not find room.
        cycles_left_out: how many of those shown are cycles that are not drawn.
        drawings_left_out: how many witnesses of those shown are not drawn.
    """

    illegal: tuple[Finding, ...]
    legal: tuple[Finding, ...]
    left_out: int
    cycles_left_out: int
    drawings_left_out: int

    @property
    def all(self) -> tuple[Finding, ...]:
        """Illegal ones first."""
        return self.illegal + self.legal


def findings_of(verdict: Verdict, seen: Witnessed, limits: Limits) -> Findings:
    """Choose and prepare what is shown: illegal anomalies before legal ones, each in order of time."""
    listed = [(result.checker, anomaly) for result in verdict.results for anomaly in result.anomalies]
    listed.sort(key=lambda entry: (not entry[1].illegal, entry[1].time_ns is None, entry[1].time_ns or 0))
    shown = listed[: limits.anomalies]
    cycles = cycles_of(verdict)
    circular = [at for at, entry in enumerate(shown) if key_of(*entry) in cycles]
    others = [at for at, entry in enumerate(shown) if entry[1].witness and key_of(*entry) not in cycles]
    drawn = {at: drawing(cycles[key_of(*shown[at])], limits.text) for at in circular[: limits.cycles]}
    drawn |= {at: _witness(shown[at][1], seen, limits) for at in others[: limits.drawings]}
    illegal = sum(anomaly.illegal for _, anomaly in shown)
    found = [
        msgspec.structs.replace(
            _finding(at + 1 if at < illegal else at + 1 - illegal, *entry, seen.history, limits),
            drawing=drawn.get(at) or None,
            circular=at in circular,
        )
        for at, entry in enumerate(shown)
    ]
    return Findings(
        illegal=tuple(found[:illegal]),
        legal=tuple(found[illegal:]),
        left_out=len(listed) - len(shown),
        cycles_left_out=max(len(circular) - limits.cycles, 0),
        drawings_left_out=max(len(others) - limits.drawings, 0),
    )


def _witness(anomaly: Anomaly, seen: Witnessed, limits: Limits) -> Markup:
    return draw_witness(seen, anomaly.witness[: limits.witness], anomaly.time_ns)


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
