"""The options that make runs happen on hosts of a Spark cluster."""

from pathlib import Path
from typing import NamedTuple


class OnHosts(NamedTuple):
    """How runs are made on hosts.

    Attributes:
        master: URL of Spark's master.
        clusters: number of clusters at once on a host.
        scratch: the folder on each host in which runs happen; None for its cache.
    """

    master: str
    clusters: int = 1
    scratch: Path | None = None
