"""Cases that are not judged yet as they must be, each with the reason; one that passes is taken out here."""

from tests.mutations.suite import Case

_MUTATIONS: dict[str, str] = {}
_CASES = {
    "quorum-high-watermark-above-a-majority-metadata-1": "marks are judged by the next answer: there is none",
}


def reason_of(case: Case) -> str | None:
    """Why a case is not judged yet as it must be; None where it is."""
    return _MUTATIONS.get(case.mutation.name) or _CASES.get(case.id)
