"""Cases that are not judged yet as they must be, each with the reason; one that passes is taken out here."""

from tests.mutations.suite import Case

_LISTED = "reported, and illegal only once enough clean runs have shown none: two have so far"
_MUTATIONS: dict[str, str] = dict.fromkeys(
    (
        "an-end-below-what-was-acknowledged",
        "an-end-that-goes-back",
        "a-stable-offset-that-goes-back",
        "an-end-beyond-what-was-sent",
        "a-stable-offset-behind-an-open-transaction",
        "a-log-that-begins-too-late",
        "a-record-that-is-too-old",
        "records-that-are-passed-over",
        "an-old-record-is-the-newest",
    ),
    _LISTED,
)
_CASES: dict[str, str] = {}


def reason_of(case: Case) -> str | None:
    """Why a case is not judged yet as it must be; None where it is."""
    return _MUTATIONS.get(case.mutation.name) or _CASES.get(case.id)
