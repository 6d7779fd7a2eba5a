"""Commands for runs: list scenarios and runs, plan, run, replay, rerun and minimise them."""
