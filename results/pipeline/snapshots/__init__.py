"""Tables on disk: Parquet files, files that tasks write, atomic snapshots."""
