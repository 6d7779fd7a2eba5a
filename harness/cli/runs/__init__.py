"""Commands for runs: list scenarios and runs; plan, make, replay, repeat and minimise runs."""
