"""Known outcomes: versions in which a scenario must show a bug of Kafka, and versions in which it must not.

`discovered_by` comes from the texts of tickets, pull requests and KIPs, or from another public report.  Where
these do not say who or what found a bug, it is left out.
"""

from harness.vocabulary import KnownOutcome, Side

_ELR = "eligible.leader.replicas.version"
_JEPSEN = "Jepsen (analysis of Bufstream 0.1.0, 2024)"


def _fixed(  # noqa: PLR0917 - a table, which is read by its columns
    ticket: str, scenario: str, red: str, green: str, tries: int = 1, discovered_by: str = ""
) -> KnownOutcome:
    """A bug that the version `red` has, and that is fixed in the version `green`."""
    sides = (Side(version=red, expected_red=True), Side(version=green, expected_red=False))
    return KnownOutcome(ticket, f"regressions/{scenario}", sides, tries, discovered_by)


KNOWN = (
    _fixed(
        "KAFKA-14402",
        "kafka-14402-hanging-transaction",
        "3.5.2",
        "3.6.2",
        discovered_by="seen in clusters (motivation of KIP-890)",
    ),
    _fixed("KAFKA-14616", "kafka-14616-recreated-topic", "3.6.2", "3.7.1"),
    _fixed("KAFKA-15489", "kafka-15489-zombie-leader", "3.6.2", "3.7.1"),
    _fixed("KAFKA-15665", "kafka-15665-early-completion", "3.7.1", "3.9.0"),
    _fixed("KAFKA-12670", "kafka-12670-unclean-config", "3.7.1", "3.9.0"),
    _fixed("KIP-996", "kip-996-epoch-run-away", "3.9.0", "4.1.1"),
    _fixed("KAFKA-17030", "kafka-17030-stale-voter", "3.9.0", "4.1.1"),
    _fixed("KAFKA-19192", "kafka-19192-old-bootstrap-file", "4.0.0", "4.1.1"),
    _fixed(
        "KAFKA-19690",
        "kafka-19690-timed-out-producer",
        "4.0.0",
        "4.1.1",
        discovered_by="Kafka Streams, whose threads died (pull request 20534)",
    ),
    _fixed("KAFKA-19274", "kafka-19274-deleted-offsets", "4.0.0", "4.1.1"),
    _fixed("KAFKA-19383", "kafka-19383-revived-topic", "4.0.0", "4.1.1"),
    _fixed("KAFKA-19497", "kafka-19497-passing-topic", "4.1.1", "4.3.1"),
    _fixed("KAFKA-19851", "kafka-19851-removed-config", "4.2.0", "4.2.1"),
    _fixed("KAFKA-20247", "kafka-20247-lost-registration", "4.2.0", "4.2.1"),
    _fixed("KAFKA-20322", "kafka-20322-mixed-markers", "4.2.0", "4.2.1"),
    _fixed("KAFKA-19975", "kafka-19975-blocked-by-dead-replica", "4.2.1", "4.3.1"),
    _fixed("KAFKA-20601", "kafka-20601-full-group", "4.3.1", "4.4.0"),
    _fixed("KAFKA-20832", "kafka-20832-cordoned-broker", "4.3.1", "4.4.0"),
    _fixed("KAFKA-20634", "kafka-20634-dropped-commit", "4.2.1", "4.3.1", tries=3),
    _fixed("KAFKA-20742", "kafka-20742-added-partitions", "4.3.1", "4.4.0"),
    _fixed("KIP-932", "kip-932-stored-start", "4.3.1", "4.4.0"),
    KnownOutcome(
        "KIP-966",
        "regressions/kip-966-last-replica",
        (
            Side(version="4.3.1", features={_ELR: 0}, expected_red=True),
            Side(version="4.3.1", features={_ELR: 1}, expected_red=False),
        ),
        discovered_by="analysis of the replication protocol (motivation of KIP-966)",
    ),
    KnownOutcome(
        "KAFKA-17375", "regressions/kafka-17375-lowered-segment", (Side(version="4.3.1", expected_red=True),)
    ),
    KnownOutcome(
        "KAFKA-17754",
        "regressions/kafka-17754-delayed-end-txn",
        (Side(version="4.3.1", expected_red=True),),
        discovered_by=_JEPSEN,
    ),
    KnownOutcome(
        "KAFKA-17754",
        "regressions/kafka-17754-transaction-version-2",
        (Side(version="4.3.1", expected_red=False),),
        discovered_by=_JEPSEN,
    ),
    KnownOutcome(
        "KAFKA-20785", "regressions/kafka-20785-late-commit", (Side(version="4.3.1", expected_red=True),)
    ),
    KnownOutcome(
        "KAFKA-20785",
        "regressions/kafka-20785-transaction-version-1",
        (Side(version="4.3.1", expected_red=False),),
    ),
    KnownOutcome(
        "KAFKA-19021", "regressions/kafka-19021-broker-as-voter", (Side(version="4.3.1", expected_red=True),)
    ),
    KnownOutcome(
        "KAFKA-19850", "regressions/kafka-19850-auto-join", (Side(version="4.3.1", expected_red=False),)
    ),
    KnownOutcome(
        "KAFKA-20554", "regressions/kafka-20554-planned-move", (Side(version="4.3.1", expected_red=False),)
    ),
    KnownOutcome(
        "KAFKA-19850",
        "regressions/kafka-19850-removed-while-down",
        (Side(version="4.3.1", expected_red=False),),
    ),
    KnownOutcome("KAFKA-19850", "kips/kip-853-remove-leader", (Side(version="4.3.1", expected_red=False),)),
)
"""Each scenario is run on all its sides.  Without a green side, no release is known that has the fix."""
