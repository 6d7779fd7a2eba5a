"""Requests for feature levels that Kafka must refuse, and why.

A request is judged by every level that the feature may have had meanwhile.  It must be refused only if each
of them is a reason.  An unsafe downgrade of ``metadata.version`` is not judged by the metadata that it may
lose: KIP-778 permits it, and no version of Kafka implements it.
"""

from collections.abc import Callable, Iterator

from checkers.administration.features.anomalies import NOT_REFUSED
from checkers.administration.features.loading import Report, Story
from checkers.evidence.features import ELR_VERSION, KRAFT_VERSION, METADATA_VERSION, FeatureRequest
from checkers.history.requested import UpgradeType
from checkers.verdict.verdict import Anomaly

_METADATA_CHANGED = frozenset({5, 6, 7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33})
"""Levels of ``metadata.version`` that changed metadata: MetadataVersion.didMetadataChange of Kafka 4.4.0."""
_KNOWN_TO = 33
"""The newest level of Kafka 4.4.0; of newer ones it is not known whether they changed metadata."""
_ELR_NEEDS = 23
"""The ``metadata.version`` (4.0-IV1) that level 1 depends on: EligibleLeaderReplicasVersion.dependencies."""


def find_not_refused(story: Story) -> Iterator[Anomaly]:
    """One finding for each accepted request that Kafka must refuse."""
    for asked in story.requests:
        why = _why_refused(story, asked) if asked.accepted else None
        if why is not None:
            done = "found valid" if asked.validate_only else "made"
            how = asked.upgrade_type.replace("-", " ")
            yield NOT_REFUSED.found(
                f"{asked.feature} to {asked.level} by {how} was {done}: {why}",
                subject=asked.feature,
                time_ns=asked.request.to_ns,
                witness=asked.request.operations,
                explanation=[why],
            )


def _why_refused(story: Story, asked: FeatureRequest) -> str | None:
    """The first reason for which a request must be refused; None if there is none."""
    span = asked.request.from_ns, asked.request.to_ns
    others = story._replace(requests=[one for one in story.requests if one is not asked])
    levels = others.levels_before(asked.feature, *span)
    return next(filter(None, (rule(others, asked, levels) for rule in _RULES)), None)


_Rule = Callable[[Story, FeatureRequest, set[int]], str | None]


def _below_zero(_: Story, asked: FeatureRequest, __: set[int]) -> str | None:
    return "a level is not negative" if asked.level < 0 else None


def _lowered_by_upgrade(_: Story, asked: FeatureRequest, levels: set[int]) -> str | None:
    if asked.upgrade_type is not UpgradeType.UPGRADE or asked.level >= min(levels):
        return None
    return f"an upgrade must not lower the level, which was {_words(levels)}"


def _raised_by_downgrade(_: Story, asked: FeatureRequest, levels: set[int]) -> str | None:
    if asked.upgrade_type is UpgradeType.UPGRADE or asked.level <= max(levels):
        return None
    return f"a downgrade must not raise the level, which was {_words(levels)}"


def _kraft_version_lowered(_: Story, asked: FeatureRequest, levels: set[int]) -> str | None:
    if asked.feature != KRAFT_VERSION or asked.level >= min(levels):
        return None
    return f"{KRAFT_VERSION} is never lowered, and was {_words(levels)}"


def _metadata_lost(_: Story, asked: FeatureRequest, levels: set[int]) -> str | None:
    if asked.feature != METADATA_VERSION or asked.upgrade_type is not UpgradeType.SAFE_DOWNGRADE:
        return None
    lossy = (
        any(asked.level < changed <= level for changed in _METADATA_CHANGED) and level <= _KNOWN_TO
        for level in levels
    )
    return f"the metadata changed between {asked.level} and {_words(levels)}" if all(lossy) else None


def _needed(story: Story, asked: FeatureRequest, _: set[int]) -> str | None:
    """Dependencies of features that Kafka checks in a request: up to 4.4.0 there is only this one.

    ``kraft.version`` 1 depends on ``metadata.version`` 3.9-IV0, but only formatting checks that.
    """
    span = asked.request.from_ns, asked.request.to_ns
    if asked.feature == ELR_VERSION and asked.level >= 1:
        lowest = max(story.levels_before(METADATA_VERSION, *span))
        needs = lowest < _ELR_NEEDS
    elif asked.feature == METADATA_VERSION and asked.level < _ELR_NEEDS:
        needs = min(story.levels_before(ELR_VERSION, *span)) >= 1
    else:
        return None
    return f"{ELR_VERSION} 1 needs {METADATA_VERSION} {_ELR_NEEDS}" if needs else None


def _unsupported(story: Story, asked: FeatureRequest, _: set[int]) -> str | None:
    """Brokers that certainly had registered with an older range of levels.

    Controllers register too, but not with each ``metadata.version``.
    """
    brokers = {node.name for node in story.setup.nodes if "broker" in node.roles}
    for name in sorted(brokers):
        before = [one for one in _of_node(story, name) if one.time_ns <= asked.request.from_ns]
        after = [one for one in _of_node(story, name) if one.began_ns >= asked.request.to_ns]
        if not before or not after:
            continue
        ranges = {one.seen.supported.get(asked.feature) for one in (before[-1], after[0])}
        known = ranges.pop() if len(ranges) == 1 else None
        if known is not None and asked.level > known[1]:
            return f"{name} supports at most {known[1]}"
    return None


def _of_node(story: Story, node: str) -> list[Report]:
    return [one for one in story.reports if one.node == node]


def _words(levels: set[int]) -> str:
    return " or ".join(map(str, sorted(levels)))


_RULES: tuple[_Rule, ...] = (
    _below_zero,
    _kraft_version_lowered,
    _lowered_by_upgrade,
    _raised_by_downgrade,
    _metadata_lost,
    _needed,
    _unsupported,
)
