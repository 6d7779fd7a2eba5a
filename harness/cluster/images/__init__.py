"""Images of Kafka, any version, from a source that this host can reach."""

from harness.cluster.images.base import base_if_cached, ensure_base
from harness.cluster.images.model import KafkaImage, Progress, Source
from harness.cluster.images.registry import require_version
from harness.cluster.images.selection import Survey, ensure_image, mend_of, survey

__all__ = [
    "KafkaImage",
    "Progress",
    "Source",
    "Survey",
    "base_if_cached",
    "ensure_base",
    "ensure_image",
    "mend_of",
    "require_version",
    "survey",
]
