"""Which provider an image of Kafka comes from."""

from docker import DockerClient

from harness.cluster.engine import connect
from harness.cluster.images.artifacts import ArtifactsProvider
from harness.cluster.images.model import KafkaImage, Progress, Source, silent


def ensure_image(
    version: str,
    source: str = Source.AUTO,
    progress: Progress = silent,
    client: DockerClient | None = None,
) -> KafkaImage:
    """The image of a version of Kafka, built or pulled where this host does not have it yet.

    Raises:
        UsageError: if there is no such version or source.
        EngineError: if no engine answers or a build fails.
        KrucibleError: if the image can't be had, with every way that was tried.
    """
    del source
    client = client or connect()
    provider = ArtifactsProvider(client)
    return provider.cached(version) or provider.obtain(version, progress)
