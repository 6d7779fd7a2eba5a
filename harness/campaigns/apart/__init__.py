"""Makes runs in a separate process; if that process dies, its faults are healed and its history is judged.

Some client libraries are written in C.  librdkafka ended its process by an assertion when a broker sent it a
broken batch, and it also hung.  Kernels end processes that take too much memory.  In all these cases the
cluster must be removed, the recorded history judged, and the next run made.

Parent and child communicate by `messages`; `process` is the parent's side, and `child` the child's.
`aftermath` is the parent's work after a child has died, and `judging` the process that judges the history.
"""
