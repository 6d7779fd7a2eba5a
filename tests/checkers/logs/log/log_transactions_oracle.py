"""Says by definition what a tiny history of one partition with transactions must show, pair by pair.

Every attempt has a value of its own.  It shares no code with the checker and knows no licences.
"""

from typing import Any, NamedTuple

from checkers.history.operations import History, Operation, OperationType

_FATES = {OperationType.OK: "committed", OperationType.FAIL: "aborted", OperationType.INFO: "doubted"}


class Attempt(NamedTuple):
    """What became of a value, where it was acknowledged, and when."""

    fate: str
    offset: int | None
    time_ns: int
    f: str

    @property
    def transactional(self) -> bool:
        """Whether it was made in a transaction."""
        return self.f == "txn"


class Return(NamedTuple):
    """A reader was given a value at an offset."""

    offset: int
    value: Any
    time_ns: int
    committed: bool


class View(NamedTuple):
    """A final read."""

    end: int
    position: int
    committed: bool
    seen: frozenset[tuple[int, Any]]

    @property
    def values(self) -> set[Any]:
        """What it found, wherever."""
        return {value for _, value in self.seen}


class Oracle:
    """Everything that a history shows."""

    def __init__(self, history: History) -> None:
        self.attempts: dict[Any, Attempt] = {}
        self.returns: list[Return] = []
        self.views: list[View] = []
        self.listed_ns = min((o.time_ns for o in history.operations if o.f == "final-read"), default=0)
        for operation in history.operations:
            self._take(operation)

    def _take(self, operation: Operation) -> None:
        invoked = operation.type is OperationType.INVOKE
        if operation.f == "txn":
            for _, _, _, value, *offset in operation.value["mops"]:
                fate = "doubted" if invoked else _FATES[operation.type]
                self.attempts[value] = Attempt(fate, offset[0] if offset else None, operation.time_ns, "txn")
        elif operation.f == "send":
            for _, value, *rest in operation.value:
                offset, outcome = rest or (None, "info")
                self.attempts[value] = Attempt(outcome, offset, operation.time_ns, "send")
        elif not invoked and operation.f in {"poll", "final-read"}:
            self._returned(operation)

    def _returned(self, operation: Operation) -> None:
        value = operation.value
        committed = value["isolation"] == "read_committed"
        pairs = [
            (o, v) for _, offsets, values in value["records"] for o, v in zip(offsets, values, strict=True)
        ]
        self.returns += [Return(o, v, operation.time_ns, committed) for o, v in pairs]
        if operation.f == "final-read":
            self.views.append(View(value["end"], value["position"], committed, frozenset(pairs)))

    def expected(self) -> dict[str, int]:
        """Exact numbers of G1a, lost-write and client-disagreement."""
        places = {(r.offset, r.value) for r in self.returns}
        places |= {(a.offset, value) for value, a in self.attempts.items() if a.offset is not None}
        counts = {
            "G1a": sum(self._is_aborted_read(*place) for place in places),
            "lost-write": len({value for offset, value in places if self._is_lost(offset, value)}),
            "client-disagreement": sum(self._is_disputed(place, places) for place in places),
        }
        return {name: count for name, count in counts.items() if count}

    def _fate(self, value: Any) -> str:
        return self.attempts[value].fate if value in self.attempts else "phantom"

    def _is_transactional(self, value: Any) -> bool:
        return value in self.attempts and self.attempts[value].transactional

    def _given_to_committed(self, offset: int, value: Any) -> bool:
        return any((r.offset, r.value, r.committed) == (offset, value, True) for r in self.returns)

    def _is_aborted_read(self, offset: int, value: Any) -> bool:
        fate = self._fate(value)
        return fate == "fail" or (fate == "aborted" and self._given_to_committed(offset, value))

    def _must_show(self, view: View, offset: int, value: Any) -> bool:
        """Whether a final read must find a value that stands at an offset."""
        known = [r.time_ns for r in self.returns if (r.offset, r.value) == (offset, value)]
        if value in self.attempts and self.attempts[value].offset == offset:
            known.append(self.attempts[value].time_ns)
        transactions = any(attempt.transactional for attempt in self.attempts.values())
        whole = view.position >= view.end and min(known) < self.listed_ns
        if not (offset < view.position or (whole and not (view.committed and transactions))):
            return False
        fate = self._fate(value)
        hidden = fate == "aborted" or (fate == "doubted" and not self._given_to_committed(offset, value))
        return not (view.committed and hidden)

    def _is_lost(self, offset: int, value: Any) -> bool:
        if self._fate(value) in {"fail", "phantom"}:
            return False
        due = [view for view in self.views if self._must_show(view, offset, value)]
        if due and not any(value in view.values for view in self.views):
            return True
        committed = [view for view in self.views if view.committed]
        withheld = not any(value in view.values for view in committed)
        return self._is_transactional(value) and any(view.committed for view in due) and withheld

    def _is_disputed(self, place: tuple[int, Any], places: set[tuple[int, Any]]) -> bool:
        if any(other != place and other[0] == place[0] for other in places):
            return False
        finders = [view for view in self.views if place in view.seen]
        for view in self.views:
            if place in view.seen or not self._must_show(view, *place):
                continue
            of_level = [f for f in finders if f.committed or not view.committed]
            if of_level if self._is_transactional(place[1]) and view.committed else finders:
                return True
        return False
