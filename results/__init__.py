"""What we learned: the run store, listeners and reports."""
