"""Defects that krucible found and no ticket describes, red until Kafka fixes them; see docs/findings.md."""
