"""Exact numbers of anomalies by place, for results that list only some of their anomalies."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

NEAR_NS = 30_000_000_000
"""Anomalies of one place that are no more than this time apart may have one cause."""
NEAR_OFFSETS = 500
"""Anomalies whose offsets are no more than this far apart may have one cause."""
PIECES_MAX = 20
"""Largest number of tallies for the anomalies of one id and place."""
_UNKNOWN = -1

Integers = npt.NDArray[np.int64]


class AnomalyTally(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Number of anomalies of one id that are near each other in one place.

    Attributes:
        id: the anomalies' id.
        place: the place, as in `checkers.verdict.places`.
        count: number of anomalies.
        illegal: whether they break a guarantee.
        first_ns, last_ns: when the first and the last became visible; None if not recorded.
        first_offset, last_offset: the lowest and the highest offset; None if not recorded.
        epoch: epoch of the place; None if the anomalies have none.
    """

    id: str
    place: str
    count: int
    illegal: bool = True
    first_ns: int | None = None
    last_ns: int | None = None
    first_offset: int | None = None
    last_offset: int | None = None
    epoch: int | None = None


def tallied(
    identity: str, place: str, time_ns: Integers, offset: Integers, *, illegal: bool, epoch: int | None = None
) -> Iterator[AnomalyTally]:
    """Count anomalies of one id in one place; those near each other are counted together.

    Args:
        identity: the anomalies' id.
        place: the place of all anomalies.
        time_ns: shape (n,), when each became visible; negative if not recorded.
        offset: shape (n,), offset of each in the log; negative if not recorded.
        illegal: whether they break a guarantee.
        epoch: epoch of the place; None if it has none.
    """
    for rows in _pieces(time_ns, offset):
        first_ns, last_ns = _ends(time_ns[rows])
        first_offset, last_offset = _ends(offset[rows])
        yield AnomalyTally(
            id=identity,
            place=place,
            count=len(rows),
            illegal=illegal,
            first_ns=first_ns,
            last_ns=last_ns,
            first_offset=first_offset,
            last_offset=last_offset,
            epoch=epoch,
        )


def placed(tallies: Iterable[AnomalyTally], chosen: Sequence[str]) -> tuple[AnomalyTally, ...]:
    """The tallies of some ids, in an order that depends only on the tallies."""
    wanted = frozenset(chosen)
    return tuple(sorted((one for one in tallies if one.id in wanted), key=_order))


def _order(tally: AnomalyTally) -> tuple[str, str, bool, int, int, int]:
    offset, time_ns, epoch = (
        _UNKNOWN if number is None else number for number in (tally.first_offset, tally.first_ns, tally.epoch)
    )
    return tally.id, tally.place, not tally.illegal, offset, time_ns, epoch


def _pieces(time_ns: Integers, offset: Integers) -> list[Integers]:
    """Split rows into groups that are near each other: by offset if all have one, otherwise by time."""
    if not len(time_ns):
        return []
    values, near = (offset, NEAR_OFFSETS) if int(offset.min()) >= 0 else (time_ns, NEAR_NS)
    order = np.argsort(values, kind="stable")
    cuts = np.flatnonzero(np.diff(values[order]) > near) + 1
    return [order] if len(cuts) >= PIECES_MAX else np.split(order, cuts)


def _ends(values: Integers) -> tuple[int, int] | tuple[None, None]:
    known = values[values >= 0]
    return (int(known.min()), int(known.max())) if len(known) else (None, None)
