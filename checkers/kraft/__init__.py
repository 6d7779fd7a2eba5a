"""Checkers of the quorum of controllers and of the metadata that it keeps."""
