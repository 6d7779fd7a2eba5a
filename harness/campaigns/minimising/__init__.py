"""Makes a red run smaller: repeats it with less, as long as its anomaly returns.

`starting` makes the start of a search from a red run, and `until` cuts its schedule at the anomaly.
`evidence` decides how many runs are needed, `subsets` decides which pieces are left out, and `search`
combines both.  `pieces` and `passes` list the parts of a scenario that can be made smaller.  `fitting` checks
whether the result can be run, `state` stores the outcomes, `runs` makes the runs, and `sizes` describes the
result.
"""
