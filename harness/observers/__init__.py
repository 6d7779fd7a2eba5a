"""Observers record the nodes' own views several times a second during the run."""

from harness.observers.observers import Observers
from harness.observers.view import ClusterView

__all__ = ["ClusterView", "Observers"]
