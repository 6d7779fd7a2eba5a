"""What this host has and lacks for runs, and having it installed."""
