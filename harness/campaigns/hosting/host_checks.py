"""Checks whether a host fulfils the requirements, before anything runs there."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import msgspec

from harness.campaigns.hosting.identity import host_name, krucible_digest, machine
from harness.campaigns.hosting.orders import PROOF_FILE, decode, encode
from harness.cluster.folders import cache_folder
from harness.host.doctor import Check, CheckState, checks_for_runs
from harness.plan.planning import RequestedImage
from harness.run.own_identity import commit

LOOK = f"{__name__}:look"
_MOUNTS = Path("/proc/self/mountinfo")
_OVER_NETWORK = (
    "nfs",
    "cifs",
    "smb",
    "ceph",
    "lustre",
    "gluster",
    "fuse.sshfs",
    "9p",
    "afs",
    "beegfs",
    "gpfs",
)


class Question(msgspec.Struct, frozen=True):
    """What a host is to check.

    Attributes:
        digest: digest of krucible on the driver.
        commit: commit of krucible on the driver, for people.
        place: the folder of the command, in the shared store.
        proof: the content of a file in `place`; a host that can read it has the same store.
        scratch: the folder on the host for its runs; None for its cache.
        images: images that runs need.
    """

    digest: str
    commit: str
    place: Path
    proof: str
    scratch: Path | None
    images: tuple[RequestedImage, ...]


class HostChecks(msgspec.Struct, frozen=True):
    """A host's identity and the results of its checks.

    Attributes:
        name: its host name.
        machine: the same for all executors on one machine.
        scratch: the folder for runs.
        checks: results of the checks.
        mark: name of the file that it wrote into the command's folder; empty if it could write none.
    """

    name: str
    machine: str
    scratch: Path
    checks: tuple[Check, ...]
    mark: str = ""

    @property
    def lacks(self) -> tuple[Check, ...]:
        """The checks that found something missing."""
        return tuple(check for check in self.checks if check.state is CheckState.MISSING)


def look(data: bytes) -> bytes:
    """Check this host.

    Args:
        data: the `Question`.

    Returns:
        `HostChecks`.
    """
    question = decode(data, Question)
    scratch = question.scratch or cache_folder() / "hosts"
    store, mark = _store(question)
    checks = (_krucible(question), store, *_scratch(scratch), *checks_for_runs(question.images, scratch))
    return encode(HostChecks(host_name(), machine(), scratch.absolute(), checks, mark))


def _krucible(question: Question) -> Check:
    here = commit() or "not a checkout"
    if krucible_digest() == question.digest:
        return Check("krucible", CheckState.OK, here)
    found = f"{here}; its files differ from those of {question.commit or 'krucible on the driver'}"
    return Check("krucible", CheckState.MISSING, found, "install the same krucible there")


def _store(question: Question) -> tuple[Check, str]:
    """Check that the store is the same and writable; also returns the file that proves it."""
    mark = f"seen-{secrets.token_hex(6)}"
    fix = "mount it there under the same path, writable"
    try:
        proof = (question.place / PROOF_FILE).read_text()
        (question.place / mark).write_text(host_name())
    except OSError as error:
        found = f"{question.place}: {error.strerror}"
        return Check("store", CheckState.MISSING, found, fix), ""
    if proof != question.proof:
        return Check("store", CheckState.MISSING, f"{question.place} is another folder there", fix), ""
    return Check("store", CheckState.OK, str(question.place.parent.parent)), mark


def _scratch(scratch: Path) -> Iterator[Check]:
    """Check that the folder is on a local disk, because Kafka's disks are folders there."""
    fix = "name a folder on a disk of its own with --scratch"
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        writable = os.access(scratch, os.W_OK | os.X_OK)
    except OSError as error:
        yield Check("scratch", CheckState.MISSING, f"{scratch}: {error.strerror}", fix)
        return
    kind = file_system_of(scratch)
    if not writable:
        yield Check("scratch", CheckState.MISSING, f"{scratch} can't be written to", fix)
    elif kind.startswith(_OVER_NETWORK):
        yield Check("scratch", CheckState.MISSING, f"{scratch} is on {kind}", fix)
    else:
        yield Check("scratch", CheckState.OK, f"{scratch}, {kind or 'unknown file system'}")


def file_system_of(folder: Path, mounts: Path = _MOUNTS) -> str:
    """The type of a folder's file system, as the kernel names it; empty if it is unknown."""
    if not mounts.exists():
        return ""
    place, best, kind = folder.resolve(), -1, ""
    for line in mounts.read_text().splitlines():
        before, _, after = line.partition(" - ")
        point = Path(before.split()[4].encode().decode("unicode_escape"))
        if place.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), after.split()[0]
    return kind
