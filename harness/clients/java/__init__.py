"""Kafka's own client, kafka-clients, in a JVM in a process of its own.

`process` starts that process and is the run's end of it, `remote` has the clients that the load uses.  In the
process, `child` carries out what they ask for by `producing`, `consuming`, `grouping`, `copying`, `sharing`,
`transacting` and `administering`, which call Java through `jvm`, the only module that knows JPype.  The
process ends with that of the run, whatever becomes of that, because both ends of a socket are then closed.
Outcomes of records are taken from the futures of a batch.  The only callbacks that enter Python are listeners
of groups' members.  Another version of the library has another process.
"""
