"""Runs that are made for somebody, one or many: carried out, judged, written down, resumed, told."""
