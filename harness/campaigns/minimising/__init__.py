"""Makes a red run smaller: repeats it with less, as long as its anomaly returns.

`starting` makes of a red run what a search starts from. `evidence` decides by how many runs, `subsets` what
is left out, `search` puts both together, `pieces` and `passes` know what of a scenario can be smaller,
`fitting` which of that can be run, `state` keeps what was run, `runs` has it run, and `sizes` tells what is
left.
"""
