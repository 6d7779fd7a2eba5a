"""Makes a red run smaller: repeats it with less, as long as its anomaly returns.

`starting` makes the start of a search from a red run. `evidence` decides by how many runs, `subsets` what
is left out, `search` puts both together, `pieces` and `passes` know what of a scenario can be smaller,
`fitting` which of that can be run, `state` stores what was run, `runs` makes the runs, and `sizes` describes
what is left.
"""
