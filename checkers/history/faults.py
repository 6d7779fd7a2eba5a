"""The types of faults, and of the gambits that they are parts of.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from checkers.history.fields import written


class PlannedFault(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fault that is about to be injected or healed: what is planned, and what it does to its targets.

    Attributes:
        kind: such as ``partition`` or ``kill``.
        spec: the planned fault with its symbolic target, unchecked.
        ends_processes: whether it ends one process of its targets; None where the history does not tell.
        silences: whether its targets can't answer anybody until the heal, in the same way.
        glyph: its shape in the report, unchecked.
        gambit: id of the gambit that it is a part of.
        blink: whether it is a short fault beside all others.
    """

    kind: str
    spec: Any = None
    ends_processes: bool | None = None
    silences: bool | None = None
    glyph: object = None
    gambit: str | None = None
    blink: bool = False


class FaultAimed(PlannedFault, frozen=True):
    """A fault that was attempted.

    Attributes:
        targets: names of the nodes that it was resolved to.
        cut: directed pairs of nodes, sender first, that are cut.
    """

    targets: tuple[str, ...] = written(())
    cut: tuple[tuple[str, str], ...] = written(())


class FaultProbed(FaultAimed, frozen=True, kw_only=True):
    """A fault that was healed, or held a connection, and what a probe saw of that; nothing where none did."""

    probe: Mapping[str, object]


class FaultInjected(FaultAimed, frozen=True, kw_only=True):
    """A fault that was injected.

    Attributes:
        resolved_by: how its target was found: ``name``, ``role``, or ``fallback``.
        roles: those that the target had at that moment.
        probe: what a probe saw of it; nothing where none did.
    """

    resolved_by: str
    roles: tuple[str, ...]
    probe: Mapping[str, object]


class FaultRefused(PlannedFault, frozen=True, kw_only=True):
    """A fault that hit nobody, and why: ``held``, ``dead``, ``over`` or ``withheld``."""

    refused: str


class GambitBegan(msgspec.Struct, frozen=True):
    """Of which kind a gambit is."""

    kind: str


class GambitEnded(GambitBegan, frozen=True):
    """How far a gambit came, and which faults it tried."""

    planned: int
    made: int
    faults: tuple[str, ...]
