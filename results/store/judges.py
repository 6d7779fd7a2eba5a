"""Records which krucible gave a run's verdict, as a field of ``verdict.json``."""

from pathlib import Path

import msgspec

from checkers.history.identity import KrucibleIdentity
from checkers.verdict.verdict import Verdict
from results.store.runs import VERDICT_FILE, load_record, save_verdict

UNKNOWN = KrucibleIdentity()
"""The judge of a verdict that was stored before krucible recorded judges."""


class _JudgedVerdict(Verdict, frozen=True, omit_defaults=True, kw_only=True):
    """The content of ``verdict.json``: a verdict and its judge. `load_verdict` reads only the verdict."""

    judged_by: KrucibleIdentity = UNKNOWN


class _Judged(msgspec.Struct, frozen=True):
    """The only field of the file that `load_judge` reads."""

    judged_by: KrucibleIdentity = UNKNOWN


def save_judged(folder: Path, verdict: Verdict, by: KrucibleIdentity) -> Path:
    """Write ``verdict.json`` with its judge, as `save_verdict` does.

    Raises:
        OSError: if it can't be written; an earlier verdict is then unchanged.
    """
    fields = {name: getattr(verdict, name) for name in verdict.__struct_fields__}
    return save_verdict(folder, _JudgedVerdict(**fields, judged_by=by))


def load_judge(folder: Path) -> KrucibleIdentity:
    """The krucible that gave a run's verdict; all its fields are empty if the file does not record it.

    Raises:
        RunUnreadableError: if ``verdict.json`` is missing or damaged.
    """
    return load_record(folder / VERDICT_FILE, _Judged).judged_by


def judged_again_by(recorded: str, by: KrucibleIdentity) -> str:
    """The commit that judged a run; empty if the same commit recorded it, or if one of them is unknown.

    Args:
        recorded: commit of krucible that recorded the run; empty if unknown.
        by: the krucible that gave the verdict.
    """
    return by.commit if recorded and by.commit != recorded else ""
