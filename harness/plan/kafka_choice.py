"""Which Kafka a run or a cluster uses: a version, an image or the tarball of a release."""

import msgspec


class KafkaChoice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A requested Kafka; None if nothing was requested.  The fields are those of `RunOptions`.

    Attributes:
        kafka_version: the version.
        image_source: where the image of a version comes from.
        kafka_tarball: the path of a release's tarball.
        kafka_image: the reference of an image.
    """

    kafka_version: str | None = None
    image_source: str = "auto"
    kafka_tarball: str | None = None
    kafka_image: str | None = None

    @property
    def image_from(self) -> tuple[str, str]:
        """The source of Kafka's image, and the file or image that was named; empty if none was."""
        if self.kafka_tarball is not None:
            return "tarball", self.kafka_tarball
        return ("registry", self.kafka_image) if self.kafka_image is not None else (self.image_source, "")
