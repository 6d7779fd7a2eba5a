"""Identifies the Kafka of a run by the content of its files, not by their paths."""

from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from checkers.history.identity import RunIdentity
from harness.cluster.engine import connect, engine_errors_named
from harness.cluster.images.registry import digest_in, known_as
from harness.cluster.images.tarball import digest_of
from harness.errors import EngineError, UsageError
from harness.plan.kafka_choice import KafkaChoice
from harness.plan.planning import RunOptions, RunPlan, reproduce_line

_ENGINE_LIMIT_S = 5


class Content(NamedTuple):
    """A build of Kafka, as far as it is known before a run.

    Attributes:
        version: Kafka's resolved version.
        key: differs between builds of a version: ``tarball sha256:…``, ``image sha256:…``, or
            ``image REF`` if only a tag is known; empty if only the version was requested.
        name: name of the tarball or image; only for people and no part of the key.
        marks: SHA-256 of the tarball, digests of the image, the reference of krucible's own image; the
            identity of every run of this build has one of them.  Empty if unknown before a run.
    """

    version: str
    key: str = ""
    name: str = ""
    marks: frozenset[str] = frozenset()

    def text(self) -> str:
        """A text for people: ``Kafka 4.4.0 of kafka_2.13-4.4.0.tgz, tarball sha256:…``."""
        of = [text for text in (self.name, self.key) if text]
        return f"Kafka {self.version}{' of ' if of else ''}{', '.join(of)}"

    def differs(self, identity: RunIdentity) -> bool:
        """Whether a run's identity names another build."""
        had = _marks_of(identity)
        return identity.kafka_version != self.version or bool(self.marks and had and not self.marks & had)

    def is_of(self, identity: RunIdentity) -> bool:
        """Whether a run used this build, according to its record.

        If only an image's tag is known, tags are compared; if only a version is known, versions.
        """
        if identity.kafka_version != self.version:
            return False
        if self.marks:
            return bool(self.marks & _marks_of(identity))
        asked = identity.options
        return not asked.get("kafka_tarball") and (asked.get("kafka_image") or "") == self.name


class Contents:
    """Looks up builds; reads each tarball and inspects each image only once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], Content] = {}

    def of(self, kafka: KafkaChoice, version: str) -> Content:
        """The build that was requested.

        Raises:
            UsageError: if a tarball can't be read.
        """
        asked = (version, kafka.kafka_tarball or "", kafka.kafka_image or "")
        if asked not in self._known:
            self._known[asked] = _look(*asked)
        return self._known[asked]

    def of_plan(self, plan: RunPlan) -> Content:
        """The build that a plan names, or the scenario's default version; raises as `of`."""
        return self.of(plan.options.kafka, plan.version)


def key_of(options: RunOptions, content: Content) -> str:
    """The options of a plan without seeds, with Kafka's content instead of paths and defaults."""
    line = reproduce_line(
        msgspec.structs.replace(
            options,
            seed=0,
            kafka_version=content.version,
            kafka_tarball=None,
            kafka_image=None,
            image_source="auto" if content.key else options.image_source,
        )
    )
    return f"{line} of {content.key}" if content.key else line


def require_two(candidate: Content, baseline: Content) -> None:
    """Refuse to compare a build with itself, even under two names.

    Raises:
        UsageError: if both are the same.
    """
    if (candidate.version, candidate.key) == (baseline.version, baseline.key):
        raise UsageError(
            "the candidate and the baseline are the same build",
            got=f"{candidate.text()}, and {baseline.text()}",
            expected="--candidate and --baseline that differ",
            next_step="drop --baseline, or name another one",
        )


def _look(version: str, tarball: str, image: str) -> Content:
    if tarball:
        digest = f"sha256:{digest_of(Path(tarball))}"
        return Content(version, f"tarball {digest}", Path(tarball).name, frozenset({digest}))
    if image:
        digest = digest_in(image)
        marks = frozenset({digest}) if digest else _known_here(image, version)
        return Content(version, f"image {digest or image}", image, marks)
    return Content(version)


def _known_here(image: str, version: str) -> frozenset[str]:
    """What this host's Docker knows of an image; empty if Docker or the image is missing."""
    with suppress(EngineError), engine_errors_named(), closing(connect(limit_s=_ENGINE_LIMIT_S)) as client:
        return known_as(client, image, version)
    return frozenset()


def _marks_of(identity: RunIdentity) -> frozenset[str]:
    """Digests that a run recorded of its build, and the digest in the requested reference."""
    image = identity.image
    recorded = (image.reference, digest_in(image.checksums.get("upstream", ""))) if image else ()
    asked = digest_in(str(identity.options.get("kafka_image") or ""))
    return frozenset(filter(None, (*recorded, asked)))
