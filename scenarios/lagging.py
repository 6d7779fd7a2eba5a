"""Scripts in which a broker lags behind the metadata log while topics are created and deleted."""

from harness.vocabulary import (
    AlterBrokers,
    ErrorCode,
    Heal,
    Inject,
    MetadataWorkload,
    Mode,
    Pass,
    Pause,
    Perform,
    ScriptedSchedule,
    Topology,
    broker,
)

TOPOLOGY = Topology(
    mode=Mode.ISOLATED, controllers=1, brokers=3, features={"eligible.leader.replicas.version": 1}
)
"""A cluster with eligible leader replicas (KIP-966)."""
_BEFORE_MS, _AFTER_MS = 8_000, 5_000


def topics_pass(topics_kept: int) -> MetadataWorkload:
    """Topics are created and deleted; no name is used again.

    If a name were used again, a broker might report the old or the new topic with that name.

    Args:
        topics_kept: number of topics that exist at a time.
    """
    return MetadataWorkload(
        assignments=((1, 2, 3), (2, 1, 3)), topic_rate=6, topics_kept=topics_kept, recreated_share=0.0
    )


def lagging_while_elrs_are_cleared(paused_ms: int) -> ScriptedSchedule:
    """Pause a broker, clear all ELRs by a new default of min.insync.replicas, and let the broker go on.

    The broker applies all records that it missed as one delta.

    Args:
        paused_ms: how long topics are created and deleted between the pause and the change of the config.
    """
    return ScriptedSchedule(
        moves=(
            Pass(_BEFORE_MS),
            Inject("lagging", Pause(broker(3))),
            Pass(paused_ms),
            Perform(AlterBrokers("min.insync.replicas", "1"), expect=(ErrorCode.NONE,)),
            Heal("lagging"),
            Pass(_AFTER_MS),
        ),
        duration_ms=_BEFORE_MS + paused_ms + _AFTER_MS + 1_000,
    )
