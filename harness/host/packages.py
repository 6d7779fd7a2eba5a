"""Debian packages that krucible needs: finds the missing ones, and installs them if allowed."""

import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from harness.cluster.engine import compose_binary, connect
from harness.errors import EngineError, KrucibleError

FORBID_VARIABLE = "NO_INSTALL"
OUTPUT_LINES_SHOWN = 5
Say = Callable[[str], None]


class Package(NamedTuple):
    """A package of Debian's and what krucible wants it for."""

    name: str
    purpose: str


def engine_answers() -> bool:
    """Whether there is a Docker engine that this user may talk to."""
    try:
        connect(limit_s=5).close()
    except EngineError:
        return False
    return True


def compose_works() -> bool:
    """Whether a compose command is here."""
    try:
        compose_binary()
    except EngineError:
        return False
    return True


def missing_for_engine() -> list[Package]:
    """What is missing for running containers."""
    found = []
    if not engine_answers():
        if not shutil.which("dockerd"):
            found.append(Package("docker.io", "the Docker engine"))
        if not shutil.which("iptables"):
            found.append(Package("iptables", "networks of containers"))
    if not compose_works():
        found.append(Package("docker-compose", "starting clusters"))
    return found


def missing_for_images(*, jars: bool = True) -> list[Package]:
    """What is missing for building images: the base, and Kafka's with `jars` that Maven resolves."""
    wanted = {"mmdebstrap": Package("mmdebstrap", "the base image")}
    if jars:
        wanted |= {
            "mvn": Package("maven", "Kafka's jars"),
            "java": Package("default-jre-headless", "Maven"),
        }
    return [package for program, package in wanted.items() if not shutil.which(program)]


def may_not_install(environment: Mapping[str, str] = os.environ) -> str | None:
    """Why nothing may be installed here, or None."""
    if environment.get(FORBID_VARIABLE, "") not in ("", "0"):
        return f"{FORBID_VARIABLE}={environment[FORBID_VARIABLE]} forbids it"
    if os.geteuid() != 0:
        return "only root may"
    if _distribution() != "debian":
        return f"that is done on Debian only, this is {_distribution() or platform.system()}"
    return None


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("ID", "")
    except OSError:
        return ""


def apt_commands(packages: Iterable[Package]) -> tuple[tuple[str, ...], ...]:
    """The commands that install packages."""
    names = (package.name for package in packages)
    lock = ("-o", "DPkg::Lock::Timeout=120")
    return (
        ("apt-get", *lock, "update"),
        ("apt-get", *lock, "install", "--yes", "--no-install-recommends", *names),
    )


def apt_line(packages: Iterable[Package]) -> str:
    """The same commands for a shell, in one line."""
    return " && ".join(" ".join(command) for command in apt_commands(packages))


def install(packages: list[Package], say: Say) -> None:
    """Install packages, after printing which and how; nothing is done where nothing is missing.

    Raises:
        KrucibleError: if they may not be installed here (with the commands that would), or if apt fails.
    """
    if not packages:
        return
    listed = ", ".join(f"{package.name} ({package.purpose})" for package in packages)
    if reason := may_not_install():
        raise KrucibleError(
            "programs are missing",
            got=f"{listed}; not installed, because {reason}",
            expected="all of them; these are the names of the packages on Debian",
            next_step=apt_line(packages),
        )
    say(f"will install: {listed}")
    for command in apt_commands(packages):
        say(f"+ {' '.join(command)}")
        _apt(command, {package.name for package in packages}, say)


def _apt(command: tuple[str, ...], wanted: set[str], say: Say) -> None:
    """Run apt-get; of the many packages that it sets up, only those that were asked for are reported."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    output: list[str] = []
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as apt:
        for line in apt.stdout or ():
            output.append(line.strip())
            if line.startswith("Setting up ") and line.split()[2].partition(":")[0] in wanted:
                say(line.strip())
    if apt.returncode != 0:
        raise KrucibleError(
            "apt-get failed",
            got="; ".join(filter(None, output[-OUTPUT_LINES_SHOWN:])),
            where=" ".join(command),
            next_step="fix what it reports, then: krucible setup",
        )
