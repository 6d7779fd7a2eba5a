"""Consistency models: the anomalies that each forbids, and the models that an anomaly rules out."""

from enum import IntEnum, StrEnum
from typing import NamedTuple


class Layer(IntEnum):
    """The order, in addition to the data, that an anomaly depends on."""

    DATA = 0
    PROCESS = 1
    REALTIME = 2


class ConsistencyModel(StrEnum):
    """The guarantees that a history's transactions must satisfy, from weakest to strongest."""

    READ_UNCOMMITTED = "read-uncommitted"
    READ_COMMITTED = "read-committed"
    REPEATABLE_READ = "repeatable-read"
    SNAPSHOT_ISOLATION = "snapshot-isolation"
    SERIALIZABLE = "serializable"
    STRONG_SESSION_SNAPSHOT_ISOLATION = "strong-session-snapshot-isolation"
    STRONG_SESSION_SERIALIZABLE = "strong-session-serializable"
    STRONG_SNAPSHOT_ISOLATION = "strong-snapshot-isolation"
    STRICT_SERIALIZABLE = "strict-serializable"


class ModelRule(NamedTuple):
    """The anomalies that a model forbids.

    Attributes:
        anomalies: ids of anomalies, without suffix.
        layer: the last layer in which the model forbids them.
    """

    anomalies: frozenset[str]
    layer: Layer


class RuledOut(NamedTuple):
    """Models that an anomaly contradicts.

    Attributes:
        weakest: ruled-out models that imply no other ruled-out model; Elle's ``:not``.
        others: all stronger ones; Elle's ``:also-not``.
    """

    weakest: tuple[ConsistencyModel, ...]
    others: tuple[ConsistencyModel, ...]


_READ_UNCOMMITTED = frozenset({"G0", "duplicate-elements", "cyclic-versions", "phantom"})
_READ_COMMITTED = _READ_UNCOMMITTED | {"G1a", "G1b", "G1c", "incompatible-order", "dirty-update"}
_OF_ITEMS = _READ_COMMITTED | {"internal", "lost-update", "G-single", "G-nonadjacent"}
# No history of single items shows the last one; without it repeatable read would seem to imply snapshots.
_SNAPSHOT = _OF_ITEMS | {"G-single-predicate"}
_REPEATABLE_READ = _OF_ITEMS | {"G2-item"}
_SERIALIZABLE = _SNAPSHOT | _REPEATABLE_READ | {"G2"}

_M = ConsistencyModel
RULES: dict[ConsistencyModel, ModelRule] = {
    _M.READ_UNCOMMITTED: ModelRule(_READ_UNCOMMITTED, Layer.DATA),
    _M.READ_COMMITTED: ModelRule(_READ_COMMITTED, Layer.DATA),
    _M.REPEATABLE_READ: ModelRule(_REPEATABLE_READ, Layer.DATA),
    _M.SNAPSHOT_ISOLATION: ModelRule(_SNAPSHOT, Layer.DATA),
    _M.SERIALIZABLE: ModelRule(_SERIALIZABLE, Layer.DATA),
    _M.STRONG_SESSION_SNAPSHOT_ISOLATION: ModelRule(_SNAPSHOT, Layer.PROCESS),
    _M.STRONG_SESSION_SERIALIZABLE: ModelRule(_SERIALIZABLE, Layer.PROCESS),
    _M.STRONG_SNAPSHOT_ISOLATION: ModelRule(_SNAPSHOT, Layer.REALTIME),
    _M.STRICT_SERIALIZABLE: ModelRule(_SERIALIZABLE, Layer.REALTIME),
}
"""Sources: Adya, Weak Consistency (1999), chapter 4; for cycles without adjacent anti-dependencies Cerone and
Gotsman, Analysing Snapshot Isolation (2018); for strong sessions Daudjee and Salem, Lazy Database Replication
with Ordering Guarantees (2004)."""

_SUFFIXES = {"-process": Layer.PROCESS, "-realtime": Layer.REALTIME}


def parted(identity: str) -> tuple[str, Layer]:
    """An anomaly's id without its suffix, and the layer that the suffix names."""
    for suffix, layer in _SUFFIXES.items():
        if identity.endswith(suffix):
            return identity.removesuffix(suffix), layer
    return identity, Layer.DATA


def suffixed(identity: str, layer: Layer) -> str:
    """The id of an anomaly in a layer."""
    return next((identity + suffix for suffix, of in _SUFFIXES.items() if of is layer), identity)


def forbids(model: ConsistencyModel, identity: str) -> bool:
    """Whether a model forbids an anomaly."""
    name, layer = parted(identity)
    return name in RULES[model].anomalies and layer <= RULES[model].layer


def ruled_out(identity: str) -> RuledOut:
    """The models that an anomaly contradicts, weakest first."""
    models = [model for model in ConsistencyModel if forbids(model, identity)]
    weakest = tuple(m for m in models if not any(_implies(m, other) for other in models if other is not m))
    return RuledOut(weakest, tuple(model for model in models if model not in weakest))


def not_weaker(model: ConsistencyModel) -> tuple[ConsistencyModel, ...]:
    """A model and all models that imply it: a history that violates it violates them too."""
    return tuple(each for each in ConsistencyModel if _implies(each, model))


def _implies(strong: ConsistencyModel, weak: ConsistencyModel) -> bool:
    """Whether each history that satisfies one model satisfies the other."""
    one, other = RULES[strong], RULES[weak]
    return one.anomalies >= other.anomalies and one.layer >= other.layer
