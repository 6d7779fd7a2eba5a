"""Selects the source of an image: a local one first, then a registry, then artifacts."""

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

from docker import DockerClient

from harness.cluster.engine import client_or_new
from harness.cluster.images.artifacts import ArtifactsProvider
from harness.cluster.images.model import JarSource, KafkaImage, Progress, silent
from harness.cluster.images.registry import RegistryProvider, wanted
from harness.cluster.images.tarball import TarballProvider
from harness.errors import KrucibleError, UsageError


class Provider(Protocol):
    """A source of images; `version` is ``4.3.1``, or ``4.3.1@sha256:…`` if the source has digests."""

    source: JarSource

    def cached(self, version: str) -> KafkaImage | None:
        """The image if this host has it; takes milliseconds."""

    def unavailable(self, version: str) -> str | None:
        """The reason why this source can't provide the image, or None; takes seconds at most."""

    def obtain(self, version: str, progress: Progress) -> KafkaImage:
        """Make the image now."""


def ensure_image(
    version: str,
    source: str = JarSource.AUTO,
    progress: Progress = silent,
    client: DockerClient | None = None,
    given: str = "",
) -> KafkaImage:
    """The image of a version of Kafka, built or pulled if this host does not have it yet.

    Args:
        version: ``4.3.1``, or ``4.3.1@sha256:…`` for the official image with that digest.
        source: ``auto``, ``artifacts``, ``registry`` or ``tarball``.
        progress: receives messages about each step.
        client: client of Docker; by default a new one.
        given: the only image of a registry, or the tarball, to make it from.

    Raises:
        UsageError: if there is no such version or source.
        EngineError: if Docker does not answer, or if a build fails.
        KrucibleError: if no source can provide the image; it names every attempt.
    """
    with client_or_new(client) as engine:
        providers = candidates(version, source, engine, given)
        fix = setup_line(version, source, given)
        return find_cached(version, providers) or _obtain_first(version, providers, progress, fix)


def candidates(version: str, source: str, client: DockerClient, given: str = "") -> list[Provider]:
    """The possible providers, in the order in which their cached images are looked for.

    Raises:
        UsageError: if there is no such source, or the version is none.
    """
    asked = wanted(version)
    if source not in set(JarSource):
        raise UsageError("no such image source", got=source, expected=", ".join(JarSource))
    if given:
        return [_provider_of(source, client, given)]
    every: list[Provider] = [ArtifactsProvider(client), RegistryProvider(client)]
    if asked.digest:
        every = [provider for provider in every if provider.source is JarSource.REGISTRY]
    chosen = [provider for provider in every if source in (JarSource.AUTO, provider.source)]
    if not chosen:
        raise UsageError(
            "only an image from a registry has a digest",
            got=f"{version} from {source}",
            expected="--image-source registry",
        )
    return chosen


def _provider_of(source: str, client: DockerClient, given: str) -> Provider:
    if source == JarSource.TARBALL:
        return TarballProvider(client, Path(given))
    return RegistryProvider(client, image=given)


def find_cached(version: str, providers: Iterable[Provider]) -> KafkaImage | None:
    """The first image of the version that this host has."""
    found = (provider.cached(version) for provider in providers)
    return next((image for image in found if image), None)


class Survey(NamedTuple):
    """The ways to get an image on this host.

    Attributes:
        cached: the image, if it is on this host; then no provider was asked.
        ways: for each provider, the reason why it can't make the image, or None if it can.
    """

    cached: KafkaImage | None
    ways: dict[JarSource, str | None]

    @property
    def registry_answers(self) -> bool:
        """Whether a registry was asked and has the image."""
        return JarSource.REGISTRY in self.ways and self.ways[JarSource.REGISTRY] is None

    @property
    def wants_jars(self) -> bool:
        """Whether Maven may have to resolve Kafka's jars; a present image and a tarball contain them."""
        return JarSource.ARTIFACTS in self.ways

    @property
    def hopeless(self) -> bool:
        """Whether the image is not on this host and no provider can make it."""
        return self.cached is None and None not in self.ways.values()


def survey(version: str, source: str, client: DockerClient, given: str = "") -> Survey:
    """Look for an image, and if it is not here, ask every provider whether it could make it.

    Raises:
        UsageError: if there is no such source, or the version is none.
    """
    providers = candidates(version, source, client, given)
    if cached := find_cached(version, providers):
        return Survey(cached, {})
    return Survey(None, {provider.source: provider.unavailable(version) for provider in providers})


def _obtain_first(version: str, providers: list[Provider], progress: Progress, fix: str) -> KafkaImage:
    """Try the registry before artifacts, because pulling is faster than building."""
    tried: list[str] = []
    for provider in reversed(providers):
        reason = provider.unavailable(version)
        if reason is None:
            try:
                return provider.obtain(version, progress)
            except UsageError:
                raise
            except KrucibleError as error:
                if len(providers) == 1:
                    raise
                reason = f"{error.what}: {error.got}"
        tried.append(f"{provider.source.value}: {reason}")
        progress(f"no image from {provider.source.value}: {reason}")
    raise KrucibleError(
        f"no image of Kafka {version} can be pulled or built",
        got="; ".join(tried),
        expected="a registry that answers, or Maven and a Debian mirror",
        next_step=fix,
    )


def setup_line(version: str, source: str = JarSource.AUTO, given: str = "") -> str:
    """The remedy for a missing image: a command that sets up this image, not the default version's."""
    if given:
        words = ["--kafka-tarball", given] if source == JarSource.TARBALL else ["--kafka-image", given]
        return shlex.join(["krucible", "setup", *words, "--kafka-version", version])
    words = ["krucible", "setup", "--kafka-version", version]
    if source == JarSource.ARTIFACTS:
        words += ["--image-source", source]
    line = shlex.join(words)
    # Set-up can't make a registry answer.  It can build an image, which the run must then accept.
    return f"drop --image-source registry, then: {line}" if source == JarSource.REGISTRY else line
