"""upgrades/features-lowered: changes of feature levels that Kafka must refuse, and some that it permits."""

from collections.abc import Iterator

from harness.vocabulary import (
    Acknowledged,
    Await,
    ErrorCode,
    Heal,
    Inject,
    LeadsQuorum,
    Move,
    Pass,
    Perform,
    Scenario,
    ScriptedSchedule,
    Stop,
    Target,
    TxnWorkload,
    UpdateFeature,
    UpgradeType,
)

_UPGRADE, _SAFE, _UNSAFE = UpgradeType.UPGRADE, UpgradeType.SAFE_DOWNGRADE, UpgradeType.UNSAFE_DOWNGRADE
_OLD = 28
"""The ``metadata.version`` of 4.2-IV0; 4.3-IV0, 4.4-IV1 and 4.4-IV2 changed metadata since."""
_TOO_NEW = 100


def _refused(feature: str, level: int, *types: UpgradeType) -> Iterator[Move]:
    """A change that is refused when it is requested, and when it should only be checked."""
    for upgrade_type in types:
        for only in (True, False):
            update = UpdateFeature(feature, level, upgrade_type, only)
            yield Perform(update, expect=(ErrorCode.INVALID_UPDATE_VERSION,), until_ms=30_000)


def _changed(feature: str, level: int, upgrade_type: UpgradeType) -> Iterator[Move]:
    """A change that is only checked first, and then made."""
    for only in (True, False):
        update = UpdateFeature(feature, level, upgrade_type, only)
        yield Perform(update, expect=(ErrorCode.NONE,), until_ms=30_000)
    yield Await(Acknowledged(40), within_ms=60_000)


SCENARIO = Scenario(
    summary="Lower levels of features under load: Kafka must refuse some of the changes and make the others.",
    why=(
        "A cluster that can't go back to an older level must say so, and must then keep the level on all "
        "nodes. A level that may be lowered must be lowered on all nodes, while its feature is in use."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            *_refused("metadata.version", _OLD, _UPGRADE, _SAFE, _UNSAFE),
            *_refused("metadata.version", _TOO_NEW, _UPGRADE),
            *_refused("kraft.version", 0, _UPGRADE, _SAFE, _UNSAFE),
            *_refused("transaction.version", 1, _UPGRADE),
            *_refused("transaction.version", _TOO_NEW, _UPGRADE, _SAFE),
            *_changed("transaction.version", 1, _SAFE),
            *_refused("transaction.version", 2, _SAFE, _UNSAFE),
            Inject("leader", Stop(Target.ACTIVE_CONTROLLER)),
            Await(Acknowledged(40), within_ms=60_000),
            Pass(5_500),
            Heal("leader"),
            Await(LeadsQuorum(), within_ms=30_000),
            *_changed("transaction.version", 2, _UPGRADE),
            *_changed("share.version", 1, _SAFE),
            *_changed("group.version", 0, _UNSAFE),
            *_changed("group.version", 1, _UPGRADE),
            Await(Acknowledged(100), within_ms=60_000),
            # The last level must be reported by all nodes within the checker's bound.
            Pass(17_000),
        ),
        duration_ms=60_000,
    ),
    workload=TxnWorkload(
        partitions=3, consumers=2, transactors=2, transaction_rate=12, fencing_interval_ms=4_000
    ),
    versions_min="4.4.0",
    ticket="KIP-584, KIP-778, KIP-853, KIP-1022",
)
