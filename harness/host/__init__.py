"""What this host has and lacks for runs, and the installation of what is missing."""
