"""Known outcomes: verdicts that are known for a version of Kafka, which test the harness itself."""

import msgspec


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration that a scenario is run on.

    Attributes:
        version: the version of Kafka.
        expected_red: whether the verdict must be invalid.
        features: feature levels to format with.
        config: properties of every node.
    """

    version: str
    expected_red: bool
    features: dict[str, int] = {}
    config: dict[str, str] = {}


class KnownOutcome(msgspec.Struct, frozen=True):
    """A ticket or KIP, and the scenario that must be red on some versions of Kafka and green on others.

    Attributes:
        ticket: Kafka's ticket or KIP.
        scenario: the scenario's name.
        sides: the configurations that it is run on.
        tries: runs of a red side at least, of which one must be red.  More than one if the bug is a race,
            which some runs lose: then it is no control of a qualification.
        discovered_by: who or what found the bug first, by its ticket or a public report; empty: not known.
    """

    ticket: str
    scenario: str
    sides: tuple[Side, ...]
    tries: int = 1
    discovered_by: str = ""
