"""A /24 network for every run, reserved under a lock, so that several runs can share a host."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Network, collapse_addresses
from pathlib import Path

from harness.cluster.folders import cache_folder
from harness.errors import KrucibleError
from harness.record.ownership import owner_from_label, this_process

POOL = IPv4Network("10.213.0.0/16")
"""Private addresses (RFC 1918) that home and office networks rarely use."""


@contextmanager
def reserved_subnet(in_use: list[str], pool: IPv4Network = POOL) -> Iterator[str]:
    """Reserve a /24 that neither the engine, nor the host's routes, nor another run uses.

    The reservation lasts as long as the block.  It is no longer needed once the engine has a network there.

    Args:
        in_use: subnets of the engine's networks, in CIDR notation.
        pool: addresses to choose from.

    Raises:
        KrucibleError: if the pool is exhausted.
    """
    folder = cache_folder() / "subnets"
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / "lock"):
        taken = [IPv4Network(text, strict=False) for text in in_use] + _host_routes()
        subnet = _first_free(pool, taken, folder)
        reservation = folder / str(subnet.network_address)
        _reserve(reservation)
    try:
        yield str(subnet)
    finally:
        reservation.unlink(missing_ok=True)


def _reserve(reservation: Path) -> None:
    try:
        reservation.write_text(this_process(os.getpid()).label())
    except OSError:
        reservation.unlink(missing_ok=True)
        raise


def _first_free(pool: IPv4Network, taken: list[IPv4Network], folder: Path) -> IPv4Network:
    blocked = list(collapse_addresses(taken))
    for subnet in pool.subnets(new_prefix=24):
        if any(subnet.overlaps(other) for other in blocked):
            continue
        if not _is_reserved(folder / str(subnet.network_address)):
            return subnet
    raise KrucibleError(
        what="there is no free network for the cluster",
        got=f"every /24 of {pool} is in use",
        expected="at least one that is free",
        where="the engine's networks",
        next_step="krucible heal, then docker network ls",
    )


def _is_reserved(reservation: Path) -> bool:
    """Whether a live process holds the reservation.

    An incomplete file does not count; a kill or a full disk may leave one.
    """
    try:
        return owner_from_label(reservation.read_text()).is_alive
    except (FileNotFoundError, ValueError):
        return False


def _host_routes(table: Path = Path("/proc/net/route")) -> list[IPv4Network]:
    """Networks in the host's routes, without the default route."""
    if not table.exists():
        return []
    routes = []
    for line in table.read_text().splitlines()[1:]:
        _interface, destination, _gateway, _flags, _refs, _use, _metric, mask, *_ = line.split()
        if int(mask, 16):
            routes.append(IPv4Network((_little_endian(destination), _dotted(mask)), strict=False))
    return routes


def _little_endian(text: str) -> int:
    return int.from_bytes(bytes.fromhex(text), "little")


def _dotted(mask: str) -> str:
    return ".".join(str(byte) for byte in reversed(bytes.fromhex(mask)))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
