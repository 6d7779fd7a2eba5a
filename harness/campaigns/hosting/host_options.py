"""The options for runs on hosts of a Spark cluster."""

from pathlib import Path
from typing import NamedTuple


class HostOptions(NamedTuple):
    """Options for runs on hosts.

    Attributes:
        master: URL of Spark's master.
        clusters: number of clusters at once on a host.
        scratch: the folder for runs on each host; None for its cache.
    """

    master: str
    clusters: int = 1
    scratch: Path | None = None
