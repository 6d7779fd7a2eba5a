"""The anomaly that every check of linearizability finds, whichever algorithm finds it."""

from checkers.verdict.kinds import AnomalyKind, by_id

NONLINEARIZABLE = AnomalyKind(
    id="nonlinearizable",
    meaning="No order of the operations agrees with both real time and the object's rules.",
    guarantee=(
        "Every operation appears to take effect at one moment between its invocation and its completion, "
        "and the object's rules hold in the order of these moments."
    ),
    source="Herlihy and Wing, Linearizability: A Correctness Condition for Concurrent Objects, 1990",
)

ANOMALIES = by_id(NONLINEARIZABLE)
"""The kind by its id."""
