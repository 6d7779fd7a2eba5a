"""Makes a red run smaller: what it did is run again with less, as long as its anomaly comes back.

`evidence` decides by how many runs, `subsets` what is left out, `search` puts both together, `pieces` and
`passes` know what of a scenario can be smaller, `state` keeps what was run, and `runs` has it run.
"""
