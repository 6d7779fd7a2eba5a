"""The table of hosts before the first run, with the missing requirements of each host."""

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from harness.campaigns.hosting.host_checks import LOOK, HostChecks, Question
from harness.campaigns.hosting.identity import krucible_digest
from harness.campaigns.hosting.orders import ReportFolder, decode, encode
from harness.host.doctor import Check, CheckState
from harness.plan.planning import RequestedImage
from harness.run.own_identity import commit
from results.markup.markdown import number
from results.pipeline.spark.hosts import Hosts


class ListedHost(NamedTuple):
    """One host of Spark's master.

    Attributes:
        name: Spark's name for it.
        seen: its identity and checks.
    """

    name: str
    seen: HostChecks


def look_at(
    hosts: Hosts, desk: ReportFolder, scratch: Path | None, images: tuple[RequestedImage, ...]
) -> list[ListedHost]:
    """Every host with the results of its checks.

    Args:
        hosts: hosts of a master.
        desk: the folder for their reports.
        scratch: the folder for runs on each; None for its cache.
        images: images that runs need.

    Raises:
        PipelineError: there is no host, or Spark can't call anything there.
    """
    question = Question(krucible_digest(), commit(), desk.place, desk.proof, scratch, images)
    asked = encode(question)
    return [ListedHost(name, _seen(hosts, name, asked, desk)) for name in hosts.settled()]


def _seen(hosts: Hosts, name: str, question: bytes, desk: ReportFolder) -> HostChecks:
    answer = hosts.ask(name, LOOK, question)
    if answer.problem:
        fix = "install this krucible there, with its extra spark, for the Python that Spark's workers start"
        return HostChecks(name, name, Path(), (Check("krucible", CheckState.MISSING, answer.problem, fix),))
    seen = decode(answer.data, HostChecks)
    if not seen.mark or (desk.place / seen.mark).exists():
        return seen
    found = f"the file that it wrote into {desk.place} is not visible on {socket.gethostname()}"
    missing = Check("store", CheckState.MISSING, found, "mount the same store in both places")
    kept = tuple(check for check in seen.checks if check.name != missing.name)
    return msgspec.structs.replace(seen, checks=(*kept, missing))


def able(found: Sequence[ListedHost]) -> list[ListedHost]:
    """Hosts that can make runs; each machine once, even if Spark has several names for it."""
    machines = {host.seen.machine: host for host in reversed(found) if not host.seen.lacks}
    return [host for host in found if machines.get(host.seen.machine) is host]


def hosts_text(found: Sequence[ListedHost]) -> str:
    """The table: one line for a host without problems, one line for every problem of another host."""
    usable = able(found)
    wide = max(len(host.name) for host in found)
    lines = [f"hosts      {len(usable)} of {number(len(found), 'host')} can do runs"]
    for host in found:
        name = f"  {host.name:<{wide}}"
        if host.seen.lacks:
            lines += [
                f"{name}  lacks  {check.name}: {' '.join(check.found.split())}; fix: {check.fix}"
                for check in host.seen.lacks
            ]
        elif host in usable:
            shown = "; ".join(f"{check.name}: {check.found}" for check in host.seen.checks)
            lines.append(f"{name}  ready  {shown}")
        else:
            lines.append(f"{name}  same   the machine of another host here")
    return "\n".join(lines)
