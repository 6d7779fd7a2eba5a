"""Checks what this host lacks for krucible, and which faults it supports."""

import platform
import shutil
from collections.abc import Iterable
from contextlib import closing
from enum import StrEnum
from pathlib import Path

import msgspec

from harness.clients.interface import ClientKind
from harness.clients.java.process import JAVA_MEND, java_missing
from harness.cluster.engine import (
    Engine,
    EngineFacts,
    compose_binary,
    connect,
    engine_errors_named,
    engine_facts,
)
from harness.cluster.images import (
    JarSource,
    Survey,
    base_if_cached,
    require_version,
    setup_line,
    survey,
)
from harness.cluster.probing import PROBES, probe_faults
from harness.errors import EngineError, KrucibleError
from harness.host.memory import GIB, available_bytes, lacks_for
from harness.host.packages import apt_line, missing_for_images
from harness.plan.planning import RequestedImage

DISK_NEEDED_BYTES = 3 * GIB
SETUP = "krucible setup"


class CheckState(StrEnum):
    """How a check came out."""

    OK = "ok"
    MISSING = "missing"
    OPTIONAL = "optional"
    """Missing, and needed only for some things."""


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at.

    Attributes:
        name: what it is.
        state: how it came out.
        found: what was found.
        fix: the command that fixes it; empty if there is nothing to fix.
    """

    name: str
    state: CheckState
    found: str
    fix: str = ""


class Capability(msgspec.Struct, frozen=True):
    """Whether this host can have a kind of fault; `why_not` is None if it can."""

    fault: str
    why_not: str | None


class DoctorReport(msgspec.Struct, frozen=True):
    """All checks, and the capability of each fault."""

    kafka_version: str
    checks: tuple[Check, ...]
    capabilities: tuple[Capability, ...]

    @property
    def ready(self) -> bool:
        """Whether a run would start here."""
        return all(check.state is not CheckState.MISSING for check in self.checks)

    def as_json(self) -> dict[str, object]:
        """The report as JSON values, with `ready`."""
        return {"ready": self.ready, **msgspec.to_builtins(self)}


def doctor(
    version: str,
    source: str = JarSource.AUTO,
    runs: Path = Path(),
    given: str = "",
    further: tuple[Check, ...] = (),
) -> DoctorReport:
    """Check this host; changes nothing, and starts four containers for a second if it can.

    Args:
        version: version of Kafka whose image is searched for.
        source: where the image would come from.
        runs: the folder that runs are written under, or one above it.
        given: the one image of a registry, or the tarball, that it would be made from.
        further: further checks that the caller made.

    Raises:
        UsageError: if there is no such version or source.
    """
    require_version(version)
    local = (_python(), _compose(), _memory(), _disk("disk for runs", runs), _java_client(), *further)
    try:
        with closing(connect()) as client:
            found = survey(version, source, client, given)
            checks, capabilities = _look_through(client, version, found, setup_line(version, source, given))
    except EngineError as error:
        checks = (Check("engine", CheckState.MISSING, f"{error.what}: {error.got}", error.next_step),)
        capabilities = tuple(Capability(kind, f"not tried: {error.what}") for kind in PROBES)
    return DoctorReport(version, (*checks, *local), capabilities)


def checks_for_runs(images: Iterable[RequestedImage], runs: Path) -> tuple[Check, ...]:
    """Check what runs need on a host that makes runs for others; starts nothing.

    Args:
        images: images of Kafka that these runs need; one that can be made here is not missing.
        runs: the folder in which runs are made, or one above it.
    """
    local = (_compose(), _memory(), _disk("disk for runs", runs))
    try:
        with engine_errors_named(), closing(connect()) as client:
            facts = engine_facts(client)
            found = [_image(one, survey(one.version, one.source, client, one.given)) for one in images]
            return (_engine(facts), *found, *local)
    except KrucibleError as error:
        return (Check("engine", CheckState.MISSING, f"{error.what}: {error.got}", error.next_step), *local)


def _image(one: RequestedImage, found: Survey) -> Check:
    """Whether an image is here or can be made."""
    name = f"Kafka {one.version}"
    if found.cached:
        return Check(name, CheckState.OK, f"{found.cached.reference}{found.cached.tools_note}")
    ways = "; ".join(f"{source.value}: {why_not or 'can'}" for source, why_not in found.ways.items())
    if found.hopeless:
        return Check(name, CheckState.MISSING, f"not here yet; {ways}", setup_line(*one))
    return Check(name, CheckState.OK, f"not here yet; its first run makes it: {ways}")


def _look_through(
    client: Engine, version: str, found: Survey, fix: str
) -> tuple[tuple[Check, ...], tuple[Capability, ...]]:
    """What can only be seen with an engine."""
    facts = engine_facts(client)
    checks = (
        _engine(facts),
        _disk("disk of the engine", Path(facts.data_root)),
        _base(fix, has_base=base_if_cached(client) is not None),
        _kafka(version, found, fix),
    )
    return checks, tuple(Capability(kind, why_not) for kind, why_not in probe_faults(client).items())


def _python() -> Check:
    return Check("python", CheckState.OK, platform.python_version())


def _engine(facts: EngineFacts) -> Check:
    found = (
        f"{facts.version} on {facts.system}, kernel {facts.kernel}, {facts.storage_driver}, "
        f"cgroup v{facts.cgroup_version}, {facts.processors} processors"
    )
    return Check("engine", CheckState.OK, found)


def _java_client() -> Check:
    name = f"client {ClientKind.JAVA}"
    if reason := java_missing():
        wanted = "scenarios whose load has Kafka's own client need it, the others do not"
        return Check(name, CheckState.OPTIONAL, f"not offered: {reason}; {wanted}", JAVA_MEND)
    return Check(name, CheckState.OK, "offered to scenarios that ask for it")


def _compose() -> Check:
    try:
        return Check("compose", CheckState.OK, " ".join(compose_binary()))
    except EngineError as error:
        return Check("compose", CheckState.MISSING, error.got, SETUP)


def _memory() -> Check:
    available = available_bytes()
    if available is None:
        return Check("memory", CheckState.OPTIONAL, "not known on this system")
    found = f"{available / GIB:.1f} GiB available"
    if not lacks_for(3):
        return Check("memory", CheckState.OK, found)
    return Check("memory", CheckState.MISSING, f"{found}, three nodes need 2 GiB", "end what takes memory")


def _disk(name: str, folder: Path) -> Check:
    """Free space where a folder is, or will be."""
    existing = next((each for each in (folder, *folder.resolve().parents) if each.exists()), None)
    if existing is None:
        return Check(name, CheckState.OPTIONAL, f"{folder} is not on this host")
    free = shutil.disk_usage(existing).free
    found = f"{free / GIB:.1f} GiB free at {existing.resolve()}"
    if free >= DISK_NEEDED_BYTES:
        return Check(name, CheckState.OK, found)
    return Check(name, CheckState.MISSING, f"{found}, want 3 GiB", "docker image prune, or remove old runs")


def _base(fix: str, *, has_base: bool) -> Check:
    if has_base:
        return Check("base image", CheckState.OK, "here")
    return Check("base image", CheckState.MISSING, "not built yet", fix)


def _kafka(version: str, found: Survey, fix: str) -> Check:
    name = f"image of Kafka {version}"
    if found.cached:
        image = found.cached
        return Check(name, CheckState.OK, f"{image.reference}, from {image.source.value}{image.tools_note}")
    ways = "; ".join(f"{source.value}: {why_not or 'can'}" for source, why_not in found.ways.items())
    missing = missing_for_images(jars=found.wants_jars)
    if found.registry_answers or not missing:
        return Check(name, CheckState.MISSING, f"not here yet; {ways}", fix)
    return Check(name, CheckState.MISSING, f"not here yet; {ways}", apt_line(missing))
