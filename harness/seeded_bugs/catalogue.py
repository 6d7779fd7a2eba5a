"""The catalogue of seeded bugs: every file below ``scenarios/seeded_bugs``, by name."""

import difflib
import functools
from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable

from harness.errors import UsageError
from harness.seeded_bugs.header import BugFileError, SeededBug, parse_bug
from harness.vocabulary.version import parse_version

BUGS_VERSION = "4.3.1"
"""All bugs fit it.  ``krucible sensitivity`` measures it by default, as all measurements until now."""
_FOLDER = "seeded_bugs"
_SUFFIX = ".btm"


@functools.cache
def seeded_bugs() -> Mapping[str, SeededBug]:
    """All bugs by name, in the order of areas and names.

    Raises:
        BugFileError: a file is not as it must be, or two have one name.
    """
    return bugs_below(resources.files("scenarios") / _FOLDER)


def bugs_below(folder: Traversable) -> Mapping[str, SeededBug]:
    """The bugs of a folder that has a folder for each area; raises as `seeded_bugs`."""
    found: dict[str, SeededBug] = {}
    for area, file in _files(folder):
        bug = parse_bug(area, file.name.removesuffix(_SUFFIX), file.read_text(encoding="utf-8"))
        if bug.name in found:
            other = found[bug.name].area
            raise BugFileError(f"{area}/{file.name}", 1, f"{other} already has a bug of that name")
        found[bug.name] = bug
    return found


def bug_named(name: str, version: str) -> SeededBug:
    """The bug of that name, for a version of Kafka.

    Raises:
        UsageError: if there is none, or it does not fit that version.
        BugFileError: as `seeded_bugs`.
    """
    bug = seeded_bugs().get(name)
    if bug is None:
        near = difflib.get_close_matches(name, seeded_bugs(), n=3, cutoff=0.3)
        raise UsageError(
            f"there is no seeded bug {name!r}",
            expected=", ".join(near or seeded_bugs()),
            next_step="see docs/seeded-bugs.md",
        )
    if not fits_version(bug, version):
        raise UsageError(
            f"the seeded bug {name} does not fit Kafka {version}",
            expected=", ".join(bug.versions),
            next_step=f"--kafka-version {bug.versions[-1]}",
        )
    return bug


def fits_version(bug: SeededBug, version: str) -> bool:
    """Whether a bug's rules fit the classes of a version of Kafka."""
    return parse_version(version) in map(parse_version, bug.versions)


def _files(folder: Traversable) -> Iterator[tuple[str, Traversable]]:
    for area in sorted((each for each in folder.iterdir() if each.is_dir()), key=lambda each: each.name):
        for file in sorted(area.iterdir(), key=lambda each: each.name):
            if file.name.endswith(_SUFFIX):
                yield area.name, file
