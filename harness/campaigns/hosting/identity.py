"""Identifies a host, and the version of krucible on it."""

import hashlib
import socket
from functools import cache
from pathlib import Path

ROOMS = ("checkers", "compose", "harness", "results", "scenarios")
_ROOT = Path(__file__).parents[3]
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def host_name() -> str:
    """The host's own name."""
    return socket.gethostname()


def machine() -> str:
    """An id that is equal for all executors on one machine, whatever names Spark has for it."""
    return _BOOT.read_text().strip() if _BOOT.exists() else host_name()


@cache
def krucible_digest() -> str:
    """SHA-256 over names and content of krucible's own files, because files may differ from their commit."""
    digest = hashlib.sha256()
    for room in ROOMS:
        for path in sorted((_ROOT / room).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                digest.update(f"{path.relative_to(_ROOT)} {content}\n".encode())
    return digest.hexdigest()
