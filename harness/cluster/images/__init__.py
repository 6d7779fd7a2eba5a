"""Images of Kafka, any version, from a source that this host can reach."""

from harness.cluster.images.base import base_if_cached, ensure_base
from harness.cluster.images.model import JarSource, KafkaImage, Progress
from harness.cluster.images.registry import require_version
from harness.cluster.images.selection import Survey, ensure_image, setup_line, survey

__all__ = [
    "JarSource",
    "KafkaImage",
    "Progress",
    "Survey",
    "base_if_cached",
    "ensure_base",
    "ensure_image",
    "require_version",
    "setup_line",
    "survey",
]
