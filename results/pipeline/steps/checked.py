"""The outcome of judging runs, summarized for the output."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from results.pipeline.found import FoundRun, Skipped
from results.pipeline.snapshots.staged_files import ManifestRow


class Checked(msgspec.Struct, frozen=True):
    """Result of a check.

    Attributes:
        runs: number of judged runs.
        unchanged: number of runs that already had a verdict of these checkers.
        validities: number of judged runs by validity.
        differing: runs whose verdict differs from the one in their folder, and how; those with another
            validity come first.
        changed: number of these with another validity.
        skipped: runs that could not be judged, and why.
    """

    runs: int
    unchanged: int
    validities: dict[str, int] = {}
    differing: tuple[Skipped, ...] = ()
    changed: int = 0
    skipped: tuple[Skipped, ...] = ()


def summed(rows: Sequence[ManifestRow], runs: Iterable[FoundRun], *, unchanged: int = 0) -> Checked:
    """Summarize the rows that tasks returned.

    Args:
        rows: a row for each run that was judged or could not be judged; other rows are ignored.
        runs: the runs, with their folders.
        unchanged: number of runs that already had verdicts.
    """
    folders = {run.run: run.folder for run in runs}
    verdicts = [entry for entry in rows if entry.validity is not None]
    differing = [
        (entry.validity != entry.stored, Skipped(folders[entry.run_id], entry.differs))
        for entry in verdicts
        if entry.run_id is not None and entry.differs is not None
    ]
    differing.sort(key=lambda one: (not one[0], one[1].folder))
    problems = [Skipped(folders[e.run_id], e.problem) for e in rows if e.run_id and e.problem]
    return Checked(
        runs=len(verdicts),
        unchanged=unchanged,
        validities=dict(sorted(Counter(str(entry.validity) for entry in verdicts).items())),
        differing=tuple(one for _, one in differing),
        changed=sum(changed for changed, _ in differing),
        skipped=tuple(sorted(problems, key=lambda run: run.folder)),
    )


def together(during: Checked, later: Checked) -> Checked:
    """Combine the results of an ingest that judged runs, and of the check after it."""
    validities = Counter(during.validities) + Counter(later.validities)
    return Checked(
        runs=during.runs + later.runs,
        unchanged=later.unchanged - during.runs,
        validities=dict(sorted(validities.items())),
        differing=(
            *during.differing[: during.changed],
            *later.differing[: later.changed],
            *during.differing[during.changed :],
            *later.differing[later.changed :],
        ),
        changed=during.changed + later.changed,
        skipped=tuple(sorted((*during.skipped, *later.skipped), key=lambda run: run.folder)),
    )
