"""Images: Kafka of any version, ready to run, from whichever source this host can reach."""

from harness.cluster.images.base import ensure_base
from harness.cluster.images.model import KafkaImage, Progress, Source
from harness.cluster.images.selection import ensure_image

__all__ = ["KafkaImage", "Progress", "Source", "ensure_base", "ensure_image"]
