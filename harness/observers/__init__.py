"""What the nodes believe, recorded several times a second while the run goes on."""

from harness.observers.observers import Observers
from harness.observers.view import ClusterView

__all__ = ["ClusterView", "Observers"]
