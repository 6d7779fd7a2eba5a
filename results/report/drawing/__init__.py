"""Shared by all drawings: SVG, shapes with a meaning, the frame of the timeline."""
