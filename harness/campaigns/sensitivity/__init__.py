"""How much of what is broken is found: which runs have seeded bugs, and how far a bug came in one."""
