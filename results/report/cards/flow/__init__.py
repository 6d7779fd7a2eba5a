"""Drawings of the messages of a witness between clients and nodes."""
