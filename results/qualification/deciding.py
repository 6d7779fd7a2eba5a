"""The decision of a qualification, by the rule in docs/qualification.md."""

from enum import StrEnum

import msgspec

RULE = (
    "NOT QUALIFIED if neither the scenario nor the baseline nor a known anomaly explains an illegal anomaly "
    "of the candidate, or if a comparison says worse. Otherwise INCONCLUSIVE if a positive control is not as "
    "expected, if the runs of one side have different builds of Kafka or both sides have the same build, if "
    "an anomaly may be a known one, if a cell has too few runs with a verdict, or if a required state "
    "was not reached. Otherwise QUALIFIED."
)


class Decision(StrEnum):
    """The decision about the candidate, from the most severe."""

    NOT_QUALIFIED = "NOT QUALIFIED"
    INCONCLUSIVE = "INCONCLUSIVE"
    QUALIFIED = "QUALIFIED"


class Reason(msgspec.Struct, frozen=True):
    """A reason against QUALIFIED, and the decision that it leads to."""

    makes: Decision
    text: str


class RuleInput(msgspec.Struct, frozen=True, kw_only=True):
    """Input of the rule; each field is a list of sentences, which may be empty.

    Attributes:
        unexplained: unexplained anomalies of the candidate.
        worse: comparisons with the result worse.
        controls: positive controls that are not as expected, or were not run.
        mixed: sides with different builds of Kafka, and two sides with the same build.
        doubtful: anomalies that may be known.
        short: cells with too few runs with a verdict.
        unreached: required states that the candidate did not reach.
    """

    unexplained: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    mixed: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    short: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()


def decide(given: RuleInput) -> tuple[Decision, tuple[Reason, ...]]:
    """The decision, and all reasons against QUALIFIED, the most severe first."""
    against = (*given.unexplained, *given.worse)
    open_questions = (*given.controls, *given.mixed, *given.doubtful, *given.short, *given.unreached)
    reasons = (
        *(Reason(Decision.NOT_QUALIFIED, text) for text in against),
        *(Reason(Decision.INCONCLUSIVE, text) for text in open_questions),
    )
    return (reasons[0].makes if reasons else Decision.QUALIFIED), reasons
