"""Cases that are not judged yet as they must be, each with the reason; one that passes is taken out here."""

from tests.mutations.suite import Case

_MUTATIONS = {
    "all-nodes-lose-the-end": "logs that all end below a told high watermark are doubt, not yet loss",
}
_FETCHED = "logs are compared only as far as a leader told that a node had fetched"
_CASES = {
    "quorum-high-watermark-above-a-majority-metadata-1": "marks are judged by the next answer: there is none",
    "metadata-log-a-batch-is-missing-on-one-node-chaos-0": _FETCHED,
    "metadata-log-a-batch-is-missing-on-one-node-disks-0": _FETCHED,
}


def reason_of(case: Case) -> str | None:
    """Why a case is not judged yet as it must be; None where it is."""
    return _MUTATIONS.get(case.mutation.name) or _CASES.get(case.id)
