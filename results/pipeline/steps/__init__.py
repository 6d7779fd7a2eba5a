"""Steps that a command asks for: runs are ingested, judged, or all of it."""
