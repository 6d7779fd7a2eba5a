"""Parses the file of a seeded bug: a header in comments, then Byteman rules; see docs/seeded-bugs.md."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from types import UnionType
from typing import NamedTuple

import msgspec

from checkers.judge import known_anomalies
from harness.errors import KrucibleError
from harness.vocabulary import administration, faults, shares, transactional, workloads
from harness.vocabulary.topology import Role
from harness.vocabulary.version import VersionShapeError, parse_version


class Area(StrEnum):
    """What of Kafka a bug is in; the folder of its file."""

    REPLICATION = "replication"
    RECOVERY = "recovery"
    IDEMPOTENCE = "idempotence"
    TRANSACTIONS = "transactions"
    GROUPS = "groups"
    SHARE_GROUPS = "share-groups"
    ELECTIONS = "elections"
    REASSIGNMENTS = "reassignments"
    CONTROLLERS = "controllers"
    KRAFT = "kraft"
    VOTERS = "voters"
    METADATA = "metadata"
    STORAGE = "storage"
    DELETION = "deletion"
    COMPACTION = "compaction"


class SeededBug(msgspec.Struct, frozen=True, kw_only=True):
    """One bug.

    Attributes:
        name: the stem of its file's name; no two bugs share it.
        area: the area of Kafka that it is in.
        summary: the defect, in a sentence or two.
        breaks: the guarantee that it breaks.
        source: where the promise is made: KIP, documentation, Kafka's class.
        faults: kinds of faults and admin operations of which at least one is needed; none: the load is
            enough.
        workloads: kinds of load of which at least one is needed.
        anomalies: ids of anomalies that may show it.
        versions: Kafka versions whose classes it fits.
        nodes: roles; a node with one of them gets the bug.
        rules: the Byteman rules as they are written, including the header, so that lines keep their numbers.
            `harness.seeded_bugs.variants` selects those for a version.
    """

    name: str
    area: Area
    summary: str
    breaks: str
    source: str
    faults: tuple[str, ...]
    workloads: tuple[str, ...]
    anomalies: tuple[str, ...]
    versions: tuple[str, ...]
    nodes: tuple[Role, ...]
    rules: str


class BugFileError(KrucibleError):
    """A file of a bug is not as it must be; the text begins with file and line."""

    def __init__(self, where: str, line: int, problem: str) -> None:
        super().__init__(f"{where}, line {line}: {problem}")


class _Field(NamedTuple):
    line: int
    text: str


_KEYS = ("summary", "breaks", "source", "faults", "workloads", "anomalies", "versions", "nodes")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_FIELD = re.compile(r"# (?P<key>[a-z]+): (?P<text>\S.*)")
_CONTINUED = re.compile(r"#   (?P<text>\S.*)")
_SENTENCES = ("summary", "breaks")
_NOTHING = "none"
_RULE = "RULE "
DELETES = "delete-records"
"""Name of a load that deletes its oldest records."""
PIPELINED = "pipelined"
"""Name of a load in which several batches of a producer are in flight to one partition."""
MODERN_GROUPS = "modern-groups"
"""Name of a load with groups of KIP-848's protocol."""
SHARE = "share"
"""Name of a load with share groups (KIP-932); their members are clients of kafka-clients."""
TRANSACTIONS_V2 = "transactions-v2"
"""Name of a load with transactional clients of kafka-clients: transactions of version 2 (KIP-890)."""
SHARE_ALTERED, SHARE_COMMITTED, SHARE_RENEWED = "share-altered", "share-committed", "share-renewed"
"""Names of loads with share groups whose start offsets are set, that read only committed records, or whose
members renew locks."""
JAVA_LOADS = frozenset({SHARE, SHARE_ALTERED, SHARE_COMMITTED, SHARE_RENEWED, TRANSACTIONS_V2})
"""Names of loads that only kafka-clients can make."""


def fault_words() -> frozenset[str]:
    """Names that a bug may list as faults: kinds of faults and of admin operations."""
    return _tags(faults.Fault) | _tags(administration.AdminOperation)


def workload_words() -> frozenset[str]:
    """Names that a bug may list as workloads."""
    kinds = (_word(one) for one in _below(workloads.Workload))
    return frozenset((*kinds, DELETES, PIPELINED, MODERN_GROUPS)) | JAVA_LOADS


def loads_of(workload: workloads.Workload) -> frozenset[str]:
    """The names that fit a load: its kind, and properties that only some of that kind have."""
    deletes = isinstance(workload, workloads.LogWorkload) and workload.deletions_interval_ms > 0
    pipelined = isinstance(workload, workloads.LogWorkload) and workload.pipelined
    modern = isinstance(workload, workloads.GroupsWorkload) and bool(workload.modern)
    newest = isinstance(workload, transactional.TxnWorkload) and workloads.JAVA_CLIENT in workload.libraries
    more = {DELETES: deletes, PIPELINED: pipelined, MODERN_GROUPS: modern, TRANSACTIONS_V2: newest}
    if isinstance(workload, shares.ShareWorkload):
        more[SHARE_ALTERED] = workload.alter_interval_ms > 0
        more[SHARE_COMMITTED] = bool(workload.committed)
        more[SHARE_RENEWED] = workload.renew_share > 0
    return frozenset((_word(type(workload)), *(word for word, fits in more.items() if fits)))


def parse_bug(area: str, name: str, text: str) -> SeededBug:
    """Read a bug from its file.

    Args:
        area: name of the folder.
        name: name of the file without its suffix.
        text: what is in it.

    Raises:
        BugFileError: something is missing, unknown or at the wrong place.
    """
    where = f"{area}/{name}.btm"
    if area not in list(Area):
        raise BugFileError(where, 1, f"no area is called {area!r}; expected one of {', '.join(Area)}")
    if not _NAME.fullmatch(name):
        raise BugFileError(where, 1, f"a name is of lower-case words and hyphens, got {name!r}")
    lines = text.splitlines()
    fields = _fields(where, lines)
    header = _header_length(lines)
    _require_rules(where, lines, header)
    versions = _versions(where, fields["versions"])
    _require_variants(where, lines, header, versions)
    sentences = {key: _sentence(where, fields[key]) for key in _SENTENCES}
    return SeededBug(
        name=name,
        area=Area(area),
        source=fields["source"].text,
        faults=_words(where, fields["faults"], fault_words(), may_be_none=True),
        workloads=_words(where, fields["workloads"], workload_words()),
        anomalies=_words(where, fields["anomalies"], frozenset(known_anomalies())),
        versions=versions,
        nodes=tuple(map(Role, _words(where, fields["nodes"], frozenset(Role)))),
        rules=text,
        **sentences,
    )


def _header_length(lines: Sequence[str]) -> int:
    return next((at for at, line in enumerate(lines) if not line.startswith("#")), len(lines))


def _fields(where: str, lines: Sequence[str]) -> Mapping[str, _Field]:
    found: dict[str, _Field] = {}
    last = ""
    for number, line in enumerate(lines[: _header_length(lines)], start=1):
        if match := _FIELD.fullmatch(line):
            last = match["key"]
            _require_expected(where, number, last, len(found))
            found[last] = _Field(number, match["text"])
        elif (match := _CONTINUED.fullmatch(line)) and last:
            found[last] = _Field(found[last].line, f"{found[last].text} {match['text']}")
        else:
            raise BugFileError(where, number, f"expected `# key: text` or `#   more text`, got {line!r}")
    if len(found) < len(_KEYS):
        raise BugFileError(where, _header_length(lines) + 1, f"expected `# {_KEYS[len(found)]}: …`")
    return found


def _require_expected(where: str, number: int, key: str, position: int) -> None:
    """The keys are in one order, each once."""
    expected = _KEYS[position] if position < len(_KEYS) else None
    if key != expected:
        wanted = f"`# {expected}: …`" if expected else "the rules"
        raise BugFileError(where, number, f"expected {wanted}, got `# {key}:`")


def _require_rules(where: str, lines: Sequence[str], header: int) -> None:
    body = "\n".join(lines[header:])
    if not re.search(r"^RULE \S", body, re.MULTILINE):
        raise BugFileError(where, header + 1, "expected a Byteman rule, which begins with `RULE name`")
    if not re.search(COUNTS, body, re.MULTILINE):
        raise BugFileError(
            where, header + 1, f"no rule counts its triggers: expected one whose DO begins `DO {TRIGGERED};`"
        )


def _require_variants(where: str, lines: Sequence[str], header: int, versions: tuple[str, ...]) -> None:
    """Rules for some versions name versions of the bug; each version of it has a rule that counts."""
    counted = set[str]()
    only = versions
    for number, (before, line) in enumerate(pairwise(lines[header - 1 :]), start=header + 1):
        if line.startswith(_RULE):
            only = versions
        elif line.startswith(VARIANT):
            only = _versions(where, _Field(number, line.removeprefix(VARIANT)))
            if strange := [version for version in only if version not in versions]:
                raise BugFileError(where, number, f"the bug is not for Kafka {strange[0]}")
            if not before.startswith(_RULE):
                raise BugFileError(where, number, f"expected `{VARIANT} …` below a line `{_RULE}name`")
        elif re.match(COUNTS, line):
            counted.update(only)
    if missing := [version for version in versions if version not in counted]:
        raise BugFileError(where, header + 1, f"no rule for Kafka {missing[0]} counts its triggers")


def _sentence(where: str, field: _Field) -> str:
    if not field.text.endswith("."):
        raise BugFileError(
            where, field.line, f"expected sentences, the last ends with a full stop: {field.text!r}"
        )
    return field.text


def _words(where: str, field: _Field, known: frozenset[str], *, may_be_none: bool = False) -> tuple[str, ...]:
    words = field.text.split()
    if may_be_none and words == [_NOTHING]:
        return ()
    if odd := [word for word in words if word not in known]:
        near = difflib.get_close_matches(odd[0], known, n=3, cutoff=0.3)
        raise BugFileError(
            where, field.line, f"{odd[0]!r} is unknown, expected for example {', '.join(near)}"
        )
    if len(set(words)) < len(words):
        raise BugFileError(where, field.line, "a word is repeated")
    return tuple(words)


def _versions(where: str, field: _Field) -> tuple[str, ...]:
    versions = tuple(field.text.split())
    try:
        numbers = [parse_version(version) for version in versions]
    except VersionShapeError as error:
        raise BugFileError(where, field.line, str(error)) from error
    if numbers != sorted(set(numbers)):
        raise BugFileError(where, field.line, "expected ascending versions, each once")
    return versions


def _tags(union: UnionType) -> frozenset[str]:
    return frozenset(_tag(one) for one in union.__args__)


def _word(kind: type[msgspec.Struct]) -> str:
    """The name of a kind of load."""
    return SHARE if issubclass(kind, shares.ShareWorkload) else _tag(kind)


def _tag(kind: type[msgspec.Struct]) -> str:
    return str(kind.__struct_config__.tag)


def _below(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


TRIGGERED = "TRIGGERED"
"""Placeholder in a rule for counting a trigger; `harness.seeded_bugs.script` replaces it by Byteman code."""
VARIANT = "# versions:"
"""Beginning of the second line of a rule that is for some of the bug's versions only."""
COUNTS = rf"^DO {TRIGGERED}(?=;|$)"
"""The beginning of such a rule's DO: it continues after a semicolon, or counts alone."""
