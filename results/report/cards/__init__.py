"""Cards of anomalies: their witnesses, the events around them, and drawings."""
