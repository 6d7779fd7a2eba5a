"""Images from the official one, pulled by tag or digest: 3.7.0 and newer.

The official image lacks krucible's entry script and has another log format.  So a thin image is built on top
of it, by the same recipe as for artifacts.  Jars are not changed, and nodes start in the same way.
"""

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import NamedTuple

from docker import DockerClient
from docker.errors import APIError, DockerException, ImageNotFound
from requests.exceptions import ReadTimeout, RequestException
from urllib3.exceptions import HTTPError, ReadTimeoutError

from harness.cluster.engine import connect
from harness.cluster.images.building import build, context, find, finish
from harness.cluster.images.locks import build_lock
from harness.cluster.images.model import JarSource, KafkaImage, Label, Progress
from harness.cluster.images.patience import Event, SilenceError, until_silent
from harness.cluster.images.recipe import kafka_recipe_hash
from harness.errors import EngineError, UsageError
from harness.vocabulary.version import VersionShapeError, parse_version

REPOSITORY = "krucible/kafka"
OFFICIAL = "apache/kafka"
FIRST_OFFICIAL = (3, 7, 0)
PROBE_LIMIT_S = 5
SILENCE_S = 30
"""A pull without progress is reported after this time, repeatedly; a large layer takes minutes."""
REPOSITORY_VARIABLE = "KRUCIBLE_KAFKA_REPOSITORY"
"""Names another repository with copies of the official image, e.g. a mirror."""

_MIB = 1 << 20
_STEP_MIB = 64
"""Download progress is reported after each further amount of this size."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class Wanted(NamedTuple):
    """A version of Kafka, and the digest of its image, if one was given."""

    version: str
    digest: str

    @property
    def tag(self) -> str:
        """The tag in the image's name."""
        return f"{self.version}-{self.digest[7:19]}" if self.digest else self.version


def wanted(text: str) -> Wanted:
    """Parse ``4.3.1`` or ``4.3.1@sha256:…``.

    Raises:
        UsageError: if it is neither.
    """
    version, at, digest = text.partition("@")
    try:
        parse_version(version)
    except VersionShapeError:
        version = ""
    if not version or (at and not _DIGEST.fullmatch(digest)):
        raise UsageError(
            "that is not a version of Kafka",
            got=text,
            expected="a version such as 4.3.1, or one with an image's digest: 4.3.1@sha256:…",
        )
    return Wanted(version, digest)


def require_version(text: str) -> None:
    """Accept ``4.3.1`` or ``4.3.1@sha256:…``.

    Raises:
        UsageError: if it is neither.
    """
    wanted(text)


class RegistryProvider:
    """Pulls the official image and adds our entry script.

    Args:
        client: client of the engine.
        repository: repository with copies of the official image.
        image: the only image to use, by tag or digest.  It is pulled only if this host does not have it.  If
            it changes here, another image is made from it.
    """

    source = JarSource.REGISTRY

    def __init__(self, client: DockerClient, repository: str | None = None, image: str = "") -> None:
        self._client = client
        self._image = image
        self._repository = repository or os.environ.get(REPOSITORY_VARIABLE) or OFFICIAL

    def reference(self, version: str) -> str:
        """Name and tag of the image of a version (or version@digest), by the current recipe."""
        asked = wanted(version)
        return f"{REPOSITORY}:{asked.tag}-{self._recipe(asked)}"

    def cached(self, version: str) -> KafkaImage | None:
        """The image if this host has it."""
        return find(self._client, self.reference(version))

    def known_as(self, version: str) -> frozenset[str]:
        """Digests of the given image, and the reference of ours; empty if this host does not have it."""
        if not self._here():
            return frozenset()
        digests = self._client.images.get(self._image).attrs.get("RepoDigests") or []
        return frozenset({self.reference(version), *filter(None, (digest_in(str(one)) for one in digests))})

    def unavailable(self, version: str) -> str | None:
        """The reason why the registry can't provide the image, or None; takes at most `PROBE_LIMIT_S`."""
        asked = wanted(version)
        if self._here():
            return None
        if not self._image and parse_version(asked.version) < FIRST_OFFICIAL:
            return "there is no official image before 3.7.0"
        try:
            with closing(connect(limit_s=PROBE_LIMIT_S)) as impatient:
                impatient.images.get_registry_data(self._upstream(asked))
        except ReadTimeout:
            return f"no registry answered within {PROBE_LIMIT_S} s for {self._upstream(asked)}"
        except (DockerException, RequestException) as error:
            return _reason(error)
        return None

    def obtain(self, version: str, progress: Progress) -> KafkaImage:
        """Pull and build; a second process that needs the same image waits for the first.

        Raises:
            EngineError: if the pull or the build fails.
            KrucibleError: if the image holds another version.
        """
        asked = wanted(version)
        with build_lock(f"kafka-{asked.tag}", progress):
            return self.cached(version) or self._build(asked, progress)

    def _upstream(self, asked: Wanted) -> str:
        return (
            self._image or f"{self._repository}{f'@{asked.digest}' if asked.digest else f':{asked.version}'}"
        )

    def _here(self) -> str:
        """Id of the given image, if this host has it."""
        if not self._image:
            return ""
        try:
            return str(self._client.images.get(self._image).id)
        except ImageNotFound:
            return ""

    def _recipe(self, asked: Wanted) -> str:
        content = [self._here()] if self._image else []
        return kafka_recipe_hash(asked.version, self.source, self._upstream(asked), *content)

    def _build(self, asked: Wanted, progress: Progress) -> KafkaImage:
        upstream = self._upstream(asked)
        resolved = self._pull(upstream, progress)
        with context(asked.version, jars=None) as folder:
            built = build(
                self._client, folder, arguments={"BASE": upstream}, network="none", progress=progress
            )
        labels = {
            Label.VERSION: asked.version,
            Label.SOURCE: self.source.value,
            Label.RECIPE: self._recipe(asked),
            Label.UPSTREAM: resolved,
        }
        reference = f"{REPOSITORY}:{asked.tag}-{self._recipe(asked)}"
        return finish(self._client, built, reference, labels, progress)

    def _pull(self, upstream: str, progress: Progress) -> str:
        """Pull the image if needed; returns its repository digest, empty if no registry knows it."""
        try:
            if not self._here():
                progress(f"pulling {upstream}")
                pull = partial(self._client.api.pull, upstream, stream=True, decode=True)
                with _silence_reported(upstream, progress) as heard:
                    for line in layer_progress(until_silent(pull, heard), upstream):
                        progress(f"{upstream}: {line}")
            digests = self._client.images.get(upstream).attrs.get("RepoDigests") or []
        except (ReadTimeout, ReadTimeoutError, SilenceError) as error:
            raise EngineError(
                "the image was not pulled in time",
                got=_reason(error),
                expected="an engine that answers while it pulls; a slow registry or disk can delay it",
                where=upstream,
                next_step=f"docker pull {upstream}, which has no time limit; then the same command again",
            ) from error
        except (DockerException, RequestException, HTTPError) as error:
            raise _not_pulled(upstream, _reason(error)) from error
        repository = repository_of(self._image) if self._image else self._repository
        ours = [str(entry) for entry in digests if str(entry).startswith(f"{repository}@")]
        return ours[0] if ours else ""


def known_as(client: DockerClient, image: str, version: str) -> frozenset[str]:
    """The facts that runs record about an image, as far as this host knows them; no registry is asked.

    Args:
        client: client of Docker.
        image: its name, by tag or digest.
        version: the version of Kafka.

    Returns:
        Its digests, ``sha256:…``, and the reference of the image that krucible makes of it; empty if this
            host does not have it.
    """
    return RegistryProvider(client, image=image).known_as(version)


def digest_in(image: str) -> str:
    """``sha256:…`` of ``…/kafka@sha256:…``, or of the bare digest; empty if there is none."""
    digest = image.rpartition("@")[2]
    return digest if _DIGEST.fullmatch(digest) else ""


def repository_of(image: str) -> str:
    """An image's name without its tag and digest; a colon before the last slash is a port's."""
    name = image.partition("@")[0]
    path, slash, last = name.rpartition("/")
    return f"{path}{slash}{last.partition(':')[0]}"


@contextmanager
def _silence_reported(what: str, progress: Progress) -> Iterator[Callable[[], None]]:
    """Report a lack of progress; the caller signals progress by calling the yielded function."""
    news, over = threading.Event(), threading.Event()

    def watch() -> None:
        silent_s = 0
        while not over.wait(SILENCE_S):
            silent_s = 0 if news.is_set() else silent_s + SILENCE_S
            news.clear()
            if silent_s:
                progress(f"{what}: no news for {silent_s} s; a slow registry or disk may need minutes")

    watcher = threading.Thread(target=watch, name="pull", daemon=True)
    watcher.start()
    try:
        yield news.set
    finally:
        over.set()
        watcher.join()


def layer_progress(events: Iterator[Event], image: str) -> Iterator[str]:
    """Yield ``3 of 7 layers`` after each complete layer of a pull, and the downloaded size between them.

    Args:
        events: Docker's events of the pull.
        image: the requested image.

    Raises:
        EngineError: if Docker reports a failure.
    """
    seen: set[str] = set()
    done: set[str] = set()
    bytes_of: dict[str, int] = {}
    shown_mib = 0
    for event in events:
        if "error" in event:
            raise _not_pulled(image, str(event["error"]))
        layer, status = str(event.get("id", "")), str(event.get("status", ""))
        if status == "Pulling fs layer":
            seen.add(layer)
        elif status in ("Pull complete", "Already exists") and layer not in done:
            done.add(layer)
            yield f"{len(done)} of {len(seen | done)} layers"
        elif status == "Downloading":
            bytes_of[layer] = int((event.get("progressDetail") or {}).get("current", 0))
            mib = sum(bytes_of.values()) // _MIB
            if mib >= shown_mib + _STEP_MIB:
                shown_mib = mib
                yield f"{len(done)} of {len(seen | done)} layers, {mib:,} MiB downloaded"


def _not_pulled(image: str, got: str) -> EngineError:
    return EngineError(
        "the image could not be pulled",
        got=got,
        where=image,
        next_step="krucible doctor, or --image-source artifacts",
    )


def _reason(error: Exception) -> str:
    return str(error.explanation or error) if isinstance(error, APIError) else str(error)
