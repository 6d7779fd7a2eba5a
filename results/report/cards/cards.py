"""Prepares the cards of a page, one for each cause, numbered, cleaned and shortened."""

import msgspec
from markupsafe import Markup

from checkers.history.operations import Operation, OperationType
from checkers.verdict.verdict import Anomaly, Verdict
from results.markup.cleaning import clean
from results.report.cards.chronology import Chronology, ChronologyLine
from results.report.cards.cycles import cycles_of, drawing, key_of
from results.report.cards.flow.flow_events import CLUSTER
from results.report.cards.pictures import Pictures
from results.report.cards.replicas.replica_rows import SideBySide
from results.report.cards.witness import Witnessed, draw_witness
from results.report.drawing.frame import moment_text
from results.report.reading.anomaly_places import context_of
from results.report.reading.client_words import RecordContext
from results.report.reading.words import answered_text, request_text, value_text
from results.report.size_limits import DisplayLimits
from results.run.causes import Cause, Shown, cause_line, causes_of

_GUESSED = (
    "The history does not record which broker a client asks. Its messages are drawn at the broker that led "
    "the partition at that time."
)
_CELL_MIN = 120
"""Characters of a request or an answer in a table, whatever the limits of the page."""
_GUARANTEE_MAX = 400
_UNNAMED = f"“{CLUSTER}” is a node that the history does not identify."


class WitnessRow(msgspec.Struct, frozen=True):
    """An operation of a witness, with cleaned and shortened texts.

    Attributes:
        line: its line in the file that was judged; None for a run.
        time: empty in a history without times.
    """

    index: int
    line: int | None
    time: str
    process: str
    type: str
    f: str
    key: str
    value: str
    error: str


class Variant(msgspec.Struct, frozen=True):
    """Another anomaly with the same cause; with a drawing if it is a cycle."""

    id: str
    subject: str
    time: str
    summary: str
    drawing: Markup | None = None


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """The card of a cause: an anomaly with its witness and the events around it, and others in short.

    Attributes:
        anchor: id of its section in the page.
        number: position among the legal or the illegal causes, from 1.
        time_ns: None if the anomaly has no time.
        witness: the first operations of the witness, as far as the history has them.
        witness_left_out: number of further operations.
        explanation_left_out: number of lines that are not shown.
        drawing: the cycle if the anomaly is one, else its witness; None if there is no drawing or no space.
        circular: whether the drawing is a cycle.
        flow: the messages of the witness; replaces the drawing.
        flow_notes: what the flow does not show, and how to read it.
        replicas: the logs of the partition's replicas, side by side.
        cause: place of the cause, and number of anomalies of each kind.
        chronology: events in the order of time.
        variants: other anomalies with the same cause.
        variants_left_out: number of those that are not shown.
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
    flow: Markup | None = None
    flow_notes: tuple[str, ...] = ()
    replicas: SideBySide | None = None
    cause: str = ""
    chronology: tuple[ChronologyLine, ...] = ()
    variants: tuple[Variant, ...] = ()
    variants_left_out: int = 0


class Cards(msgspec.Struct, frozen=True):
    """The cards of a verdict.

    Attributes:
        broken: whether a guarantee was broken, also if only the number of anomalies is known.
        unlisted: one line for each cause whose anomalies are not listed in the verdict.
        left_out: number of causes that are not shown.
        cycles_left_out: number of shown causes whose cycle is not drawn.
        drawings_left_out: number of shown causes whose witness is not drawn.
        tables_left_out: number of shown causes whose table of replicas is left out.
    """

    broken: bool
    illegal: tuple[Card, ...]
    legal: tuple[Card, ...]
    unlisted: tuple[str, ...]
    left_out: int
    cycles_left_out: int
    drawings_left_out: int
    tables_left_out: int = 0

    @property
    def all(self) -> tuple[Card, ...]:
        """All cards, those of illegal anomalies first."""
        return self.illegal + self.legal


def cards_of(
    verdict: Verdict,
    seen: Witnessed,
    limits: DisplayLimits,
    chronology: Chronology | None = None,
    pictures: Pictures | None = None,
) -> Cards:
    """Prepare a card for each cause, in the order of `causes_of`.

    Args:
        verdict: the verdict of the run.
        seen: source of the drawings of witnesses.
        limits: upper bounds of what is shown.
        chronology: source of the events around each cause; without it cards show no events.
        pictures: source of drawings of messages and of tables of replicas; without it cards have neither.
    """
    causes = [(cause, cause.witness) for cause in causes_of(verdict)]
    listed = [(cause, witness) for cause, witness in causes if witness is not None]
    shown = listed[: limits.anomalies]
    unlisted = [cause for cause, witness in causes if witness is None]
    lines = [clean(cause_line(cause), limits.text) for cause in unlisted[: limits.rows]]
    maker = _Maker(verdict, seen, limits, chronology, pictures)
    cards = [maker.card(cause, witness) for cause, witness in shown]
    return Cards(
        broken=any(cause.illegal for cause, _ in causes),
        illegal=tuple(card for card in cards if card.illegal),
        legal=tuple(card for card in cards if not card.illegal),
        unlisted=tuple(lines),
        left_out=len(causes) - len(shown) - len(lines),
        cycles_left_out=maker.cycles.left_out,
        drawings_left_out=max(maker.drawings - limits.drawings, 0),
        tables_left_out=0 if pictures is None else pictures.tables_left_out,
    )


class _Maker:
    """Makes cards one after the other, and counts what they draw.

    Attributes:
        cycles: draws cycles.
        drawings: number of witnesses that need a drawing of their own.
    """

    def __init__(
        self,
        verdict: Verdict,
        seen: Witnessed,
        limits: DisplayLimits,
        chronology: Chronology | None,
        pictures: Pictures | None,
    ) -> None:
        self._seen, self._limits = seen, limits
        self._chronology, self._pictures = chronology, pictures
        self._numbers = {True: 0, False: 0}
        self.cycles = _Cycles(verdict, limits)
        self.drawings = 0

    def card(self, cause: Cause, witness: Shown) -> Card:
        """The card of a cause and the anomaly that it shows."""
        limits = self._limits
        self._numbers[cause.illegal] += 1
        number = self._numbers[cause.illegal]
        circular = self.cycles.has(witness)
        drawn = self.cycles.drawing(witness)
        flow, notes = _flow(cause, None if circular else self._pictures)
        if witness.anomaly.witness and not circular and flow is None:
            self.drawings += 1
            drawn = (
                _witness(witness.anomaly, self._seen, limits) if self.drawings <= limits.drawings else None
            )
        variants = tuple(self._variant(one) for one in cause.shown[1 : limits.variants + 1])
        return msgspec.structs.replace(
            _card(number, witness.checker, witness.anomaly, self._seen, limits),
            drawing=drawn or None,
            circular=circular,
            flow=flow,
            flow_notes=notes,
            replicas=None if self._pictures is None else self._pictures.replicas(cause),
            cause=clean(cause_line(cause), limits.text),
            chronology=self._events(cause),
            variants=variants,
            variants_left_out=max(cause.total - 1 - len(variants), 0),
        )

    def _variant(self, one: Shown) -> Variant:
        anomaly, limits = one.anomaly, self._limits
        return Variant(
            id=clean(anomaly.id, 60),
            subject=clean(anomaly.subject or "", limits.cell),
            time=_time(anomaly, self._seen),
            summary=clean(anomaly.summary, limits.text),
            drawing=self.cycles.drawing(one),
        )

    def _events(self, cause: Cause) -> tuple[ChronologyLine, ...]:
        if self._chronology is None or not cause.illegal:
            return ()
        return self._chronology.around(cause, self._limits)


class _Cycles:
    """Draws the cycles of a verdict, up to the limit."""

    def __init__(self, verdict: Verdict, limits: DisplayLimits) -> None:
        self._cycles = cycles_of(verdict)
        self._limits = limits
        self._asked = 0

    @property
    def left_out(self) -> int:
        """How many requested cycles were not drawn."""
        return max(self._asked - self._limits.cycles, 0)

    def has(self, one: Shown) -> bool:
        """Whether an anomaly is a cycle."""
        return key_of(one.checker, one.anomaly) in self._cycles

    def drawing(self, one: Shown) -> Markup | None:
        """Draw the cycle of an anomaly; None if it is no cycle, or above the limit."""
        if not self.has(one):
            return None
        self._asked += 1
        if self._asked > self._limits.cycles:
            return None
        return drawing(self._cycles[key_of(one.checker, one.anomaly)], self._limits.text)


def _flow(cause: Cause, pictures: Pictures | None) -> tuple[Markup | None, tuple[str, ...]]:
    """Drawing of the messages of an illegal anomaly's witness, and its notes."""
    drawn = pictures.flow(cause) if pictures is not None and cause.illegal else None
    if drawn is None:
        return None, ()
    picture, flow = drawn
    notes = [_GUESSED] * flow.guessed + [_UNNAMED] * (CLUSTER in flow.nodes)
    if flow.left_out:
        notes.append(f"Not drawn: {', '.join(flow.left_out)}.")
    return picture, tuple(notes)


def _witness(anomaly: Anomaly, seen: Witnessed, limits: DisplayLimits) -> Markup:
    return draw_witness(seen, anomaly.witness[: limits.witness], anomaly.time_ns)


def _time(anomaly: Anomaly, seen: Witnessed) -> str:
    return "" if anomaly.time_ns is None else moment_text(anomaly.time_ns, timed=seen.timed)


def _card(number: int, checker: str, anomaly: Anomaly, seen: Witnessed, limits: DisplayLimits) -> Card:
    lines, shown = anomaly.explanation[: limits.explanation], anomaly.witness[: limits.witness]
    operations = seen.history.operations
    near = context_of(anomaly, checker)
    witness = tuple(_row(operations[i], near, seen, limits) for i in shown if 0 <= i < len(operations))
    kind = "anomaly" if anomaly.illegal else "legal"
    return Card(
        anchor=f"{kind}-{number}",
        number=number,
        id=clean(anomaly.id, 60),
        checker=clean(checker, 60),
        illegal=anomaly.illegal,
        summary=clean(anomaly.summary, limits.text),
        guarantee=clean(anomaly.guarantee, max(limits.text, _GUARANTEE_MAX)),
        source=clean(anomaly.source, max(limits.text, _GUARANTEE_MAX)),
        subject=clean(anomaly.subject or "", limits.cell),
        time=_time(anomaly, seen),
        time_ns=anomaly.time_ns,
        explanation=tuple(clean(line, limits.text) for line in lines),
        explanation_left_out=len(anomaly.explanation) - len(lines),
        witness=witness,
        witness_left_out=len(anomaly.witness) - len(witness),
        licence=clean(anomaly.licence or "", limits.text),
    )


def _row(operation: Operation, near: RecordContext, seen: Witnessed, limits: DisplayLimits) -> WitnessRow:
    text_of = request_text if operation.type is OperationType.INVOKE else answered_text
    return WitnessRow(
        index=operation.index,
        line=seen.line(operation.index),
        time=f"{operation.time_ns / 1e9:,.6f}" if seen.timed else "",
        process=clean(str(operation.process), 30),
        type=operation.type.value,
        f=clean(operation.f, 30),
        key=value_text(operation.key, limits.cell // 2),
        value=text_of(operation, near, max(limits.cell, _CELL_MIN)),
        error=clean(operation.error or "", limits.cell),
    )
