"""Checkers of the controller quorum and of the cluster metadata that it keeps."""
