"""What krucible found and no ticket tells yet, each red as long as Kafka does it; see docs/findings.md."""
