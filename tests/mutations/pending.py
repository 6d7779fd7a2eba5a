"""Cases that are not judged yet as they must be, each with the reason; one that passes is taken out here."""

from tests.mutations.suite import Case

_MUTATIONS: dict[str, str] = {}
_CASES: dict[str, str] = {}


def reason_of(case: Case) -> str | None:
    """Why a case is not judged yet as it must be; None where it is."""
    return _MUTATIONS.get(case.mutation.name) or _CASES.get(case.id)
