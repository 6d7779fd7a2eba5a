"""The run store: finds runs on disk by name, reads and writes their files, links to their reports."""
