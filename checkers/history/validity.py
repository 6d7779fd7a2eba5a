"""The values of a verdict, and of the expectation in a setup."""

from enum import StrEnum


class Validity(StrEnum):
    """The three values of a verdict, and a fourth value for checkers that had nothing to judge."""

    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN = "unknown"
    NOT_EXERCISED = "not exercised"
