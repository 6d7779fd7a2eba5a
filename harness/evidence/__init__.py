"""What is gathered at the end of a run, from nodes' disks, their logs, and what brokers answer."""
