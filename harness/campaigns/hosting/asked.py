"""How hosts were asked to do runs."""

from pathlib import Path
from typing import NamedTuple


class OnHosts(NamedTuple):
    """How hosts are to do runs.

    Attributes:
        master: Spark's.
        clusters: how many a host bears at once.
        scratch: the folder on each host in which runs happen; None for its cache.
    """

    master: str
    clusters: int = 1
    scratch: Path | None = None
