"""Judges finalized feature levels (KIP-584): requests for them, and what nodes report.

1. A change that the documents forbid is refused: ``feature-change-not-refused``.
2. Levels change only by accepted requests, in the order of the epochs: ``unrequested-feature-level``,
   ``feature-level-went-back``, ``divergent-feature-levels``.
3. The epoch that a process reports never goes back: ``features-epoch-went-back``.
4. An acknowledged level is reported by all nodes within a bound: ``feature-level-behind``.

If a node was asked for its levels and does not report them after a change, the result is unknown.
"""

from collections import Counter

from checkers.administration.features.anomalies import ANOMALIES, NEEDS
from checkers.administration.features.loading import loaded
from checkers.administration.features.refusals import find_not_refused
from checkers.administration.features.reports import find_in_reports, unheard
from checkers.evidence.features import FeatureRequest, feature_requests
from checkers.history.observed import FEATURES
from checkers.history.operations import History
from checkers.history.setup import setup_of
from checkers.verdict.entry import Entry
from checkers.verdict.verdict import CheckerResult, result_of

__all__ = ["ENTRY", "check_features"]

CHECKER = "features"
"""The checker's name."""


def check_features(history: History) -> CheckerResult:
    """Judge all requests and reports; the result is not exercised if there are none.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    if not feature_requests(history) and not history.observed(FEATURES):
        return result_of(CHECKER, [], exercised=False)
    setup = setup_of(history)
    if setup is None:
        doubt = "without a setup record the first levels are unknown"
        return result_of(CHECKER, [], unknown_because=doubt)
    story = loaded(history, setup)
    return result_of(
        CHECKER,
        [*find_not_refused(story), *find_in_reports(story)],
        figures={
            "requests": dict(sorted(Counter(map(_outcome, story.requests)).items())),
            "reports": len(story.reports),
        },
        unknown_because=unheard(story),
    )


def _outcome(asked: FeatureRequest) -> str:
    if asked.accepted:
        return "found valid" if asked.validate_only else "made"
    return "refused" if asked.request.failed else "unknown"


ENTRY = Entry(CHECKER, check_features, ANOMALIES, NEEDS)
