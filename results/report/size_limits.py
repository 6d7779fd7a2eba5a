"""Upper bounds of what a report shows, so that its size is limited for any run."""

import msgspec

PAGE_BYTES_MAX = 400_000
"""A larger report is made again with the next smaller limits."""


class DisplayLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Upper bounds of what is shown; the page states how much is left out.

    Attributes:
        anomalies: causes, illegal ones first.
        variants: other anomalies of one cause.
        cycles: drawings of cycles, illegal ones first.
        flows: drawings of messages, illegal ones first.
        replicas: tables of replicas side by side, illegal ones first.
        drawings: drawings of other witnesses, illegal ones first.
        witness: rows of one witness.
        explanation: lines of one explanation.
        cell: characters of a value in a table.
        text: characters of a sentence.
        rows: rows of any other table.
        marks: dots of the latency lane.
        processes: rows of the lane of operations.
        partitions: rows of the lane of partition leaders.
        segments: bars of one row of a lane.
        links: times at which links were cut or disturbed; with more, the drawing of the cluster is left out.
    """

    anomalies: int = 200
    variants: int = 20
    cycles: int = 6
    flows: int = 10
    replicas: int = 8
    drawings: int = 100
    witness: int = 12
    explanation: int = 24
    cell: int = 160
    text: int = 800
    rows: int = 60
    marks: int = 4_000
    processes: int = 24
    partitions: int = 24
    segments: int = 120
    links: int = 8_000


STEPS = (
    DisplayLimits(),
    DisplayLimits(drawings=30, marks=2_500, segments=60),
    DisplayLimits(
        anomalies=80,
        variants=8,
        cycles=4,
        flows=6,
        replicas=4,
        drawings=20,
        witness=6,
        explanation=10,
        cell=100,
        text=400,
        rows=40,
        marks=2_500,
        processes=16,
        links=4_000,
    ),
    DisplayLimits(
        anomalies=60,
        variants=4,
        cycles=3,
        flows=4,
        replicas=2,
        drawings=12,
        witness=6,
        explanation=8,
        cell=80,
        text=300,
        rows=32,
        marks=1_500,
        processes=12,
        partitions=16,
        segments=50,
        links=2_000,
    ),
    DisplayLimits(
        anomalies=30,
        variants=2,
        cycles=2,
        flows=2,
        replicas=1,
        drawings=6,
        witness=4,
        explanation=5,
        cell=40,
        text=160,
        rows=20,
        marks=1_000,
        processes=8,
        partitions=8,
        segments=40,
        links=1_000,
    ),
)
"""In descending order; the last limits fit any run."""
