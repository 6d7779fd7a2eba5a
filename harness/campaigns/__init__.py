"""Runs for a command or a session of pytest: made, judged, stored, resumed and reported."""
