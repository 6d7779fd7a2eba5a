"""Makes runs in a separate process; if that process dies, its faults are healed and its history is judged.

Client libraries are written in C: librdkafka was seen to end its process by an assertion when a broker sent
it a broken batch, and to hang.  Kernels end processes that take too much memory.  In all these cases the
cluster must be removed, the recorded history judged, and the next run made.

Parent and child communicate by `messages`: `process` is the parent's end, `child` the other one.  `aftermath`
is what the parent does after a child has died, `judging` the process that judges the history.
"""
