"""Cases that are not judged yet as they must be, each with the reason; one that passes is taken out here."""

from tests.mutations.suite import Case

_MUTATIONS: dict[str, str] = {
    "a-topic-that-no-log-has": "what brokers tell of topics that the log never had is left out",
    "a-broker-forgets-a-topic": "what a broker tells no more of is judged by nobody",
    "partitions-of-no-topic": "nobody asks whether a partition that is made belongs to a topic",
    "two-instances-have-one-epoch": "producer ids and epochs that initialisations tell are judged by nobody",
    "a-commit-of-a-generation-that-never-was": "commits of generations to come are judged by nobody",
    "a-reassignment-that-brokers-tell-of": "what brokers list as under way gives figures alone",
}
_CASES: dict[str, str] = {}


def reason_of(case: Case) -> str | None:
    """Why a case is not judged yet as it must be; None where it is."""
    return _MUTATIONS.get(case.mutation.name) or _CASES.get(case.id)
