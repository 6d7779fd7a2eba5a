"""The tables of a page: checkers, assumptions, faults, the run's identity."""

from collections.abc import Mapping

import msgspec
from markupsafe import Markup

from checkers.history.identity import ImageIdentity, KrucibleIdentity, RunIdentity
from checkers.verdict.verdict import CheckerResult, Verdict
from results.markup.cleaning import clean, clean_value
from results.report.drawing import glyphs
from results.report.reading.history_files import HistoryFile
from results.report.size_limits import DisplayLimits
from results.run.measures import Measures
from results.run.observation import FaultSeen, Observed
from results.run.text import at_seconds, seconds
from results.store.judges import UNKNOWN, judged_again_by
from results.store.runs import anomaly_counts

_ENTRIES_SHOWN = 6


class FaultRow(msgspec.Struct, frozen=True):
    """A fault, ready to be shown."""

    id: str
    icon: Markup
    kind: str
    plan: str
    targets: str
    begun: str
    held: str
    proven: bool
    attempted: bool
    unavailable: str
    error: str


class CountRow(msgspec.Struct, frozen=True):
    """Number of anomalies with the same id; legal if all listed ones are."""

    id: str
    count: str
    illegal: bool


class CheckerRow(msgspec.Struct, frozen=True):
    """A checker's result, ready to be shown."""

    name: str
    validity: str
    because: str
    counts: tuple[tuple[str, str], ...]
    figures: tuple[tuple[str, str], ...]


class AssumptionRow(msgspec.Struct, frozen=True):
    """An assumption, and the checker that tested it."""

    checker: str
    name: str
    met: bool
    expected: str
    observed: str


def count_rows(verdict: Verdict, limits: DisplayLimits) -> tuple[CountRow, ...]:
    """Numbers of anomalies by id, illegal ones first."""
    examples = [anomaly for result in verdict.results for anomaly in result.anomalies]
    illegal = {anomaly.id for anomaly in examples if anomaly.illegal}
    legal = {anomaly.id for anomaly in examples} - illegal
    rows = [
        CountRow(clean(name, 60), f"{count:,}", name not in legal)
        for name, count in anomaly_counts(verdict).items()
    ]
    return tuple(sorted(rows, key=lambda row: not row.illegal)[: limits.rows])


def checker_rows(verdict: Verdict, limits: DisplayLimits) -> tuple[CheckerRow, ...]:
    """One row for each checker, in the verdict's order."""
    return tuple(_checker(result, limits) for result in verdict.results[: limits.rows])


def assumption_rows(verdict: Verdict, limits: DisplayLimits) -> tuple[AssumptionRow, ...]:
    """One row for each assumption, unmet ones first."""
    rows = [
        AssumptionRow(
            checker=clean(result.checker, limits.cell),
            name=clean(assumption.name, limits.cell),
            met=assumption.met,
            expected=clean(assumption.expected, limits.cell),
            observed=clean(assumption.observed, limits.cell),
        )
        for result in verdict.results
        for assumption in result.assumptions
    ]
    return tuple(sorted(rows, key=lambda row: row.met)[: limits.rows])


def fault_rows(observed: Observed, measures: Measures, limits: DisplayLimits) -> tuple[FaultRow, ...]:
    """Faults in the order of injection, including those that were planned and not attempted."""
    unavailable = {fault.id: fault.unavailable_ms_max for fault in measures.faults}
    return tuple(_fault(fault, unavailable.get(fault.id), limits) for fault in observed.faults[: limits.rows])


def identity_rows(
    identity: RunIdentity, limits: DisplayLimits, by: KrucibleIdentity = UNKNOWN
) -> tuple[tuple[str, str], ...]:
    """What ran and where, as pairs of name and text, without empty texts."""
    image, host = identity.image, identity.host
    rows: tuple[tuple[str, str | None], ...] = (
        ("Scenario", identity.scenario),
        ("Kafka", identity.kafka_version),
        ("Image", f"{image.reference} ({image.source})" if image else None),
        ("Digest", image.digest if image else None),
        ("Tools", image.tools if image else None),
        *((f"Image of {clean(own, 40)}", _image(other)) for own, other in identity.other_images.items()),
        ("Feature levels", _pairs(identity.features)),
        ("Seed", str(identity.seed)),
        ("Options", _pairs(identity.options)),
        ("Configuration", _pairs(identity.config)),
        ("JVM options", " ".join(identity.jvm_options)),
        ("Node files", ", ".join(f"{file.source} → {file.destination}" for file in identity.node_files)),
        ("Began", identity.began_at),
        ("Run", identity.run),
        ("krucible", identity.krucible_commit),
        ("Judged again by", judged_again_by(identity.krucible_commit, by)),
        ("Host", _host(identity) if host.kernel or host.cpus else None),
        ("Engine", host.engine),
    )
    return tuple((name, clean(text, limits.text)) for name, text in rows if text)


def file_rows(
    file: HistoryFile, limits: DisplayLimits, by: KrucibleIdentity = UNKNOWN
) -> tuple[tuple[str, str], ...]:
    """Which file was judged, how, and by which krucible, as pairs of name and text, without empty texts."""
    rows = (
        ("File", file.path),
        ("Workload", file.workload),
        ("Checked against", file.model),
        ("Judged by", f"krucible {by.commit or by.version}".rstrip() if by != UNKNOWN else None),
    )
    return tuple((name, clean(text, limits.text)) for name, text in rows if text)


def _image(image: ImageIdentity) -> str:
    """The image of another version than the run's, in one line."""
    return f"{image.reference} ({image.source}), {image.digest}"


def checksum_rows(identity: RunIdentity, limits: DisplayLimits) -> tuple[tuple[str, str], ...]:
    """The files from which the image was built, with their checksums."""
    checksums = identity.image.checksums if identity.image else {}
    return tuple(
        (clean(name, 120), clean(checksum, 140)) for name, checksum in list(checksums.items())[: limits.rows]
    )


def _checker(result: CheckerResult, limits: DisplayLimits) -> CheckerRow:
    return CheckerRow(
        name=clean(result.checker, limits.cell),
        validity=result.validity.value,
        because=clean(result.unknown_because or "", limits.text),
        counts=tuple(
            (clean(name, 60), f"{count:,}") for name, count in list(result.counts.items())[: limits.rows]
        ),
        figures=tuple(
            (clean(name.replace("_", " "), 60), _figure(value, limits))
            for name, value in list(result.figures.items())[: limits.rows]
        ),
    )


def _figure(value: object, limits: DisplayLimits) -> str:
    """A number with thousands separators; other values as short JSON."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "not known"}[value]
    if isinstance(value, int) and abs(value) < 10**18:
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1_000 else f"{value:,.0f}"  # noqa: PLR2004 - four digits need no more
    if isinstance(value, list | dict):
        return _collection(value, limits)
    return clean_value(value, limits.cell)


def _collection(value: list[object] | dict[str, object], limits: DisplayLimits) -> str:
    """A few plain values in one line; otherwise the number of values."""
    inside = list(value.values()) if isinstance(value, dict) else value
    if not inside:
        return "none"
    if len(inside) > _ENTRIES_SHOWN or any(isinstance(entry, list | dict) for entry in inside):
        return "1 entry" if len(inside) == 1 else f"{len(inside):,} entries"
    if isinstance(value, dict):
        return clean(_pairs(value, " "), limits.cell)
    return ", ".join(clean_value(entry, limits.cell) for entry in inside)


def _fault(fault: FaultSeen, unavailable_ms: int | None, limits: DisplayLimits) -> FaultRow:
    plan = {name: value for name, value in fault.spec.items() if name not in {"kind", "draw"}}
    return FaultRow(
        id=clean(fault.id, 20),
        icon=glyphs.fault_icon(fault.kind, fault.glyph),
        kind=clean(fault.kind, 30),
        plan=clean(_pairs(plan, " "), limits.cell),
        targets=clean(", ".join(fault.targets), limits.cell),
        begun=at_seconds(fault.invoked_ns),
        held="" if fault.held_ms is None else f"{fault.held_ms:,}",
        proven=fault.effective_ns is not None,
        attempted=fault.attempted,
        unavailable=seconds(unavailable_ms) if fault.attempted else "",
        error=clean(fault.error or "", limits.text),
    )


def _pairs(mapping: Mapping[str, object], equals: str = " = ") -> str:
    return ", ".join(f"{name}{equals}{clean_value(value, 120)}" for name, value in mapping.items())


def _host(identity: RunIdentity) -> str:
    host = identity.host
    return f"Linux {host.kernel}, {host.cpus} CPUs, {host.memory_mib:,} MiB"
