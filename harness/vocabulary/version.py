"""Kafka versions as values that can be compared."""

import re

_SHAPE = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})(?:[-.][0-9A-Za-z][0-9A-Za-z.-]{0,40})?")
"""The text becomes a part of paths and of image names, so no other characters are allowed."""

DEFAULT_VERSION = "4.4.0"
"""What runs where nothing else is requested: the newest release that krucible was tried on."""
FIRST_DYNAMIC_QUORUM = (3, 9, 0)
"""KIP-853: the set of voters is stored in the metadata log."""
FIRST_LOG4J2 = (4, 0, 0)


class VersionShapeError(ValueError):
    """A text is not a Kafka version."""


def parse_version(text: str) -> tuple[int, int, int]:
    """The numbers of a version; a suffix such as ``-rc1`` or ``-SNAPSHOT`` is ignored.

    Raises:
        VersionShapeError: if the text does not have the form ``MAJOR.MINOR.PATCH[-SUFFIX]``.
    """
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise VersionShapeError(f"{text!r} is not a Kafka version such as 4.3.1")
    major, minor, patch = (int(part) for part in match.groups())
    return major, minor, patch
