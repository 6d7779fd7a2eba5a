"""Errors whose message tells the user what to do next.

    Exception
    └── KrucibleError                the harness could not do its work; exit code 3
        ├── UsageError               a wrong option, scenario, version or file; exit code 64
        ├── EngineError              the Docker engine is missing, unreachable or refuses
        │   └── NotRunningError      a node has no process, because it ended by itself
        ├── BugFileError             the file of a seeded bug is malformed
        ├── NotReadyError            one start of a cluster did not become ready
        ├── ClusterNotReadyError     no start of a cluster became ready
        ├── TimedError               a part of the schedule was not carried out as planned
        ├── JavaDiedError            the process of kafka-clients ended during a run
        ├── WorkloadError            a worker of the load died, or did not stop in time
        └── JournalError             the history can't be written any further

Each error says what went wrong, what was found, what was expected, where, and what to do next.
A traceback that reaches a user is a defect.  `tests/test_house.py` compares this tree with the classes.

The harness's other exceptions, such as `WireError`, are expected and handled by their callers.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

_PLACE = "a place that can be written to"
_EXPECTED = {
    errno.ENOSPC: "free space",
    errno.EDQUOT: "free space",
    errno.EROFS: _PLACE,
    errno.EACCES: _PLACE,
    errno.EPERM: _PLACE,
    errno.ENOENT: "a folder that exists",
    errno.ENOTDIR: "a folder",
    errno.EISDIR: "a file",
}
_NEXT_STEPS = {
    errno.ENOSPC: "free space on that disk, then try again",
    errno.EDQUOT: "raise the quota of that disk, then try again",
    errno.EROFS: "name a place that can be written to, for example with --runs",
    errno.EACCES: "get write permission for it, or name another place, for example with --runs",
    errno.EPERM: "get write permission for it, or name another place, for example with --runs",
    errno.EIO: "look at the host's disk (dmesg)",
    errno.ENOENT: "make the folder, or name another place",
    errno.ENOTDIR: "name another place",
    errno.EISDIR: "name another place",
}


class KrucibleError(Exception):
    """An error that ends what the harness was doing, with a message for the user.

    Attributes:
        what: what went wrong, in a few words.
        got: what was found.
        expected: what should have been there.
        where: file, option, host or node.
        next_step: the command or change that solves it.
    """

    exit_code = 3

    def __init__(
        self,
        what: str,
        *,
        got: str = "",
        expected: str = "",
        where: str = "",
        next_step: str = "",
    ) -> None:
        super().__init__(what)
        self.what = what
        self.got = got
        self.expected = expected
        self.where = where
        self.next_step = next_step

    def __str__(self) -> str:
        """What went wrong, then one line for each fact that is known."""
        facts = (
            ("got", self.got),
            ("expected", self.expected),
            ("where", self.where),
            ("next", self.next_step),
        )
        return "\n".join([self.what, *(f"  {name + ':':<10}{text}" for name, text in facts if text)])


class UsageError(KrucibleError):
    """The command is wrong: what it names does not exist, or its options contradict each other."""

    exit_code = 64


class EngineError(KrucibleError):
    """The Docker engine is missing, can't be reached, or refused a request."""


@contextmanager
def disk_errors_named() -> Iterator[None]:
    """Turn an `OSError` in the block into a `KrucibleError` that names the file and the next step."""
    try:
        yield
    except OSError as error:
        raise refused(error) from error


def refused(error: OSError) -> KrucibleError:
    """The error for an `OSError`, such as a full disk or a missing permission."""
    return KrucibleError(
        "the operating system refused",
        got=error.strerror or str(error) or type(error).__name__,
        expected=_EXPECTED.get(error.errno or 0, ""),
        where=str(error.filename or ""),
        next_step=_NEXT_STEPS.get(error.errno or 0, "fix that, then try again"),
    )
