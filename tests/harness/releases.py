"""Tarballs laid out as Kafka's releases are, for tests."""

import io
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

TEXTS = {
    "LICENSE": b"Apache License",
    "NOTICE": b"Apache Kafka",
    "bin/kafka-server-start.sh": b"#!/bin/bash\n",
    "config/server.properties": b"process.roles=broker,controller\n",
    "licenses/argparse-MIT": b"MIT",
    "site-docs/kafka_2.13-4.3.1-site-docs.tgz": b"docs",
}


def release(path: Path, jars: Mapping[str, bytes], top: str = "kafka_2.13-4.3.1", level: int = 1) -> Path:
    """A binary release with these jars under ``libs``."""
    with tarfile.open(path, "w:gz", compresslevel=level) as archive:
        archive.addfile(folder(top))
        archive.addfile(folder(f"{top}/libs"))
        for name, content in {**TEXTS, **{f"libs/{jar}": data for jar, data in jars.items()}}.items():
            archive.addfile(file(f"{top}/{name}", len(content)), io.BytesIO(content))
    return path


def release_of(path: Path, jars: Iterable[Path], version: str) -> Path:
    """A binary release with real jars."""
    return release(path, {jar.name: jar.read_bytes() for jar in jars}, f"kafka_2.13-{version}")


def folder(name: str) -> tarfile.TarInfo:
    """A member that is a folder."""
    member = tarfile.TarInfo(name)
    member.type, member.mode = tarfile.DIRTYPE, 0o755
    return member


def file(name: str, size: int = 0) -> tarfile.TarInfo:
    """A member that is a file."""
    member = tarfile.TarInfo(name)
    member.size = size
    return member


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    """A member that leads elsewhere."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def odd(path: Path, *members: tarfile.TarInfo, top: str = "kafka_2.13-4.3.1") -> Path:
    """A tarball of these members, whatever they are; their content is zeros."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        archive.addfile(folder(top))
        for member in members:
            archive.addfile(member, io.BytesIO(bytes(member.size)))
    return path
