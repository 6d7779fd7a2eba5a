"""findings/kept-topic-config: a broker restarts after topics with configs were deleted and created again."""

from harness.vocabulary import (
    Expectation,
    FixedSchedule,
    MetadataWorkload,
    Mode,
    Scenario,
    Step,
    Stop,
    Topology,
    Validity,
    broker,
)

SCENARIO = Scenario(
    summary="Restart a broker while topics with configs of their own are deleted and created again.",
    why=(
        "A broker that starts applies all records since its last snapshot as one delta. If that delta has a "
        "topic's config and the deletion of the topic, the broker keeps the config. It uses this config for "
        "the next topic of that name, and the other brokers do not."
    ),
    schedule=FixedSchedule(steps=(Step(28_000, 5_000, Stop(broker(1))),), duration_ms=42_000),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3),
    # A topic lives for half a minute: it must exist before the restart, and still when brokers are asked.
    workload=MetadataWorkload(topics_kept=30, recreated_share=1.0, configured_share=0.5),
    versions_min="3.9.0",
    ticket="KIP-631",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("config-against-log",),
            why="a delta deletes the configs of a removed topic only if the base image has some",
        ),
    ),
)
