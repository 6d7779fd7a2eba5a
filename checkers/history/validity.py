"""The values of a verdict, which a setup may expect and a verdict has."""

from enum import StrEnum


class Validity(StrEnum):
    """The three values of a verdict, and a fourth one of a checker that had nothing to judge."""

    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN = "unknown"
    NOT_EXERCISED = "not exercised"
