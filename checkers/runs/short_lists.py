"""What assumptions say of many things: the few that matter most by name, and the number of the others."""

from collections.abc import Mapping, Sequence

_NAMED_MAX = 5


def first_of(names: Sequence[str]) -> str:
    """The first few names, and the number of further ones; *none* if there are none."""
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return (", ".join(names[:_NAMED_MAX]) or "none") + more


def number_of(count: int, noun: str) -> str:
    """A number with its noun, such as *1 fault* or *31 faults*."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def all_of(count: int, noun: str) -> str:
    """What is said if nothing lacks, such as *all 6 partitions*, *the only partition* or *no partitions*."""
    return {0: f"no {noun}s", 1: f"the only {noun}"}.get(count, f"all {count} {noun}s")


def lowest_of(counts: Mapping[str, int], least: int, unit: str = "") -> str:
    """The faults whose number is below a minimum, the lowest first; the lowest of all if none is.

    Args:
        counts: the number of each fault, by its id; at least one.
        least: the minimum.
        unit: unit of the numbers; empty if they only count.
    """
    ascending = sorted(counts, key=lambda fault: counts[fault])
    shown = {fault: f"{counts[fault]} {unit}".rstrip() for fault in ascending}
    few = [f"{fault}: {shown[fault]}" for fault in ascending if counts[fault] < least]
    lowest = f"lowest: {shown[ascending[0]]} ({ascending[0]})"
    return f"{first_of(few) if few else lowest}, of {number_of(len(counts), 'fault')}"
