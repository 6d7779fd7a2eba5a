"""Runs in a process of their own; if that process dies, its faults are healed and its history is judged.

Client libraries are written in C: librdkafka was seen to end its process by an assertion when a broker sent
it a broken batch, and to hang.  Kernels end processes that take too much memory.  None of that may leave a
cluster behind, or keep what was recorded from being judged, or the next run from being made.

Parent and child speak by `messages`: `process` is the parent's end, `child` the other one.  `aftermath` is
what the parent does once a child has died, `judging` the process in which it has the history judged.
"""
