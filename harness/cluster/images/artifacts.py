"""Images from Kafka's artifacts on Maven Central and a Debian base: any version, no registry."""

from docker import DockerClient

from harness.cluster.images import maven
from harness.cluster.images.base import base_reference, ensure_base
from harness.cluster.images.building import build, context, find, finish
from harness.cluster.images.locks import build_lock
from harness.cluster.images.model import JarSource, KafkaImage, Label, Progress
from harness.cluster.images.recipe import kafka_recipe_hash
from harness.errors import KrucibleError

REPOSITORY = "krucible/kafka"


class ArtifactsProvider:
    """Builds images from the jars that Maven resolves."""

    source = JarSource.ARTIFACTS

    def __init__(self, client: DockerClient) -> None:
        self._client = client

    def reference(self, version: str) -> str:
        """Name and tag of the image of a version, by the current recipe."""
        return f"{REPOSITORY}:{version}-{self._recipe(version)}"

    def cached(self, version: str) -> KafkaImage | None:
        """The image if this host has it."""
        return find(self._client, self.reference(version))

    def unavailable(self, _version: str) -> str | None:
        """The reason why this provider can't make the image, or None."""
        return maven.maven_missing()

    def obtain(self, version: str, progress: Progress) -> KafkaImage:
        """Build the image; a second process that needs the same image waits for the first.

        Raises:
            KrucibleError: if Maven, Debian's mirror or the engine fails.
        """
        with build_lock(f"kafka-{version}", progress):
            return self.cached(version) or self._build(version, progress)

    def _recipe(self, version: str) -> str:
        wanted = (str(coordinate) for coordinate in maven.coordinates(version))
        return kafka_recipe_hash(version, self.source, base_reference(), *wanted)

    def _build(self, version: str, progress: Progress) -> KafkaImage:
        base = ensure_base(progress, self._client)
        jars = maven.resolve(version, progress)
        other = maven.tools_version(jars)
        tools = maven.resolve(other, progress) if other else None
        progress(f"building the image of Kafka {version}")
        with context(version, jars, tools) as folder:
            built = build(self._client, folder, arguments={"BASE": base}, network="none", progress=progress)
        labels = {
            Label.VERSION: version,
            Label.SOURCE: self.source.value,
            Label.RECIPE: self._recipe(version),
            **({Label.TOOLS: other} if other else {}),
        }
        image = finish(self._client, built, self.reference(version), labels, progress)
        # Tools of another version are not compared, because no node loads them; see docs/images.md.
        expected = maven.checksums(maven.jar_sums(jars))
        if image.checksums != expected:
            raise KrucibleError(
                "the image does not hold the jars it was built from",
                got=image.checksums,
                expected=expected,
                where=image.reference,
                next_step=f"docker rmi {image.reference}, then try again",
            )
        return image
