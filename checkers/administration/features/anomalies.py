"""The anomalies of feature levels."""

from checkers.history.sources import Source
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import Needs

_EPOCHS = "KIP-584, FinalizedFeaturesEpoch"

NOT_REFUSED = AnomalyKind(
    id="feature-change-not-refused",
    meaning="Kafka accepted, or validated, a change of a feature's level that it must refuse.",
    guarantee="A level is lowered only by a downgrade, is never above what each broker supports, and never "
    "below what another feature needs; kraft.version is never lowered, and metadata.version not by a safe "
    "downgrade if a version in between changed metadata.",
    source="KIP-584, KIP-778, KIP-853, KIP-1022; Kafka's FeatureControlManager",
)
UNREQUESTED = AnomalyKind(
    id="unrequested-feature-level",
    meaning="A node reported a finalized level that no request can have set: the requests for it were "
    "refused or only validated, or there were none.",
    guarantee="Levels change only by accepted requests; a refused request and a validation change nothing.",
    source="KIP-584, UpdateFeatures; KIP-778, ValidateOnly",
)
WENT_BACK = AnomalyKind(
    id="feature-level-went-back",
    meaning="A level was replaced by one that the feature had before, and no request can have set it again.",
    guarantee="In growing epochs a level is only replaced by one that was requested after it.",
    source=f"{_EPOCHS}; KIP-853 for kraft.version",
)
DIVERGENT = AnomalyKind(
    id="divergent-feature-levels",
    meaning="Two reports of one epoch have different levels of a feature.",
    guarantee="An epoch has one set of finalized levels, on all nodes.",
    source=f"{_EPOCHS}; in KRaft it is the offset of the metadata image",
)
EPOCH_BACK = AnomalyKind(
    id="features-epoch-went-back",
    meaning="A process of a node reported an older epoch of the finalized levels than before.",
    guarantee="The epoch of the finalized levels never goes back.",
    source=_EPOCHS,
)
BEHIND = AnomalyKind(
    id="feature-level-behind",
    meaning="15 s after a change was acknowledged, with no fault since, a node that answered all the time "
    "did not report the new level.",
    guarantee="An accepted level becomes the finalized level of all nodes.",
    source="KIP-584, UpdateFeatures; the bound is krucible's",
)
ANOMALIES = by_id(NOT_REFUSED, UNREQUESTED, WENT_BACK, DIVERGENT, EPOCH_BACK, BEHIND)
"""All anomalies by id."""
_CHANGES = (Source.ADMIN, Source.FAULTS)
NEEDS = Needs(
    (Source.ADMIN, Source.FEATURES),
    {
        NOT_REFUSED.id: (Source.ADMIN,),
        UNREQUESTED.id: _CHANGES,
        WENT_BACK.id: (*_CHANGES, Source.NODES),
        DIVERGENT.id: (Source.FAULTS,),
        EPOCH_BACK.id: (Source.FAULTS, Source.NODES),
        BEHIND.id: (*_CHANGES, Source.NODES),
    },
)
"""The journals that the checker's rules need."""
