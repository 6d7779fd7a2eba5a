"""Texts of a cell in the table of replicas: one batch in the log of one replica."""

from collections.abc import Iterator, Mapping

import msgspec

from checkers.evidence.replicas import CONTROL, TRANSACTIONAL, ReplicaLog

_CONTROLS = {
    0: "abort marker",
    1: "commit marker",
    2: "leader change",
    3: "snapshot header",
    4: "snapshot footer",
    5: "KRaft version",
    6: "voters",
}
"""Types of control records (KIP-98, KIP-595, KIP-630, KIP-853)."""


class CellPart(msgspec.Struct, frozen=True):
    """A part of a cell's text, and whether replicas differ in it."""

    text: str
    differs: bool = False


def batch_parts(log: ReplicaLog, row: int, alike: Mapping[str, bool]) -> tuple[CellPart, ...]:
    """The texts of a batch: offsets, epoch, records, producer, sequence, CRC, and its other attributes.

    Args:
        log: the replica's log.
        row: position of the batch in the log.
        alike: by column, whether all replicas with a batch at these offsets have the same value.
    """
    batch = {name: int(column[row]) for name, column in log.columns.items()}
    return tuple(
        CellPart(text, differs=not all(alike.get(name, True) for name in names))
        for text, names in _texts(batch)
        if text
    )


def offsets_text(first: int, end: int) -> str:
    """A range of offsets as text; the end is exclusive."""
    if end <= first:
        return f"none, from {first:,} on"
    return f"{first:,}" if end == first + 1 else f"{first:,}–{end - 1:,}"  # noqa: RUF001 - a range


def one_line(parts: tuple[CellPart, ...]) -> str:
    """All parts of a cell as one text."""
    return ", ".join(part.text for part in parts)


def _texts(batch: Mapping[str, int]) -> Iterator[tuple[str, tuple[str, ...]]]:
    base, last, count = batch["base_offset"], batch["last_offset"], batch["count"]
    yield f"batch {offsets_text(base, last + 1)}", ("base_offset", "last_offset")
    yield f"epoch {batch['leader_epoch']:,}", ("leader_epoch",)
    yield "1 record" if count == 1 else f"{count:,} records", ("count",)
    producer, sequence = batch["producer_id"], batch["base_sequence"]
    named = f"producer id {producer} epoch {batch['producer_epoch']}"
    yield named if producer >= 0 else "no producer id", ("producer_id", "producer_epoch")
    yield f"sequence {sequence:,}" if sequence >= 0 else "", ("base_sequence",)
    yield f"CRC 0x{batch['crc']:08x}", ("crc",)
    yield _kind(batch), ("attributes",)


def _kind(batch: Mapping[str, int]) -> str:
    attributes = batch["attributes"]
    if attributes & CONTROL:
        return _CONTROLS.get(batch["control"], "control batch")
    return "transactional" if attributes & TRANSACTIONAL else ""
