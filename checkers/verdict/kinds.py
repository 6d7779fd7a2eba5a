"""Kinds of anomalies: the name, meaning and source that all findings of one kind share."""

from collections.abc import Iterable, Mapping

import msgspec

from checkers.verdict.verdict import Anomaly


class AnomalyKind(msgspec.Struct, frozen=True):
    """The common properties of all findings with one id.

    Attributes:
        id: stable name, e.g. ``zombie-leader``.
        meaning: what was observed, in one line.
        guarantee: the guarantee that is broken; of a legal anomaly, the guarantee that it concerns.
        source: the document that gives the guarantee.
        illegal: whether a finding makes a history invalid.
    """

    id: str
    meaning: str
    guarantee: str
    source: str
    illegal: bool = True

    def found(
        self,
        summary: str,
        *,
        subject: str | None = None,
        time_ns: int | None = None,
        witness: Iterable[int] = (),
        explanation: Iterable[str] = (),
    ) -> Anomaly:
        """Return a finding of this kind; the arguments are the fields of `Anomaly` with these names."""
        return Anomaly(
            id=self.id,
            summary=summary,
            guarantee=self.guarantee,
            source=self.source,
            illegal=self.illegal,
            subject=subject,
            time_ns=time_ns,
            witness=tuple(witness),
            explanation=tuple(explanation),
        )


def by_id(*kinds: AnomalyKind) -> Mapping[str, AnomalyKind]:
    """Index kinds by their ids."""
    return {kind.id: kind for kind in kinds}
