"""Tables on disk: files of Parquet, what tasks write, snapshots that appear whole."""
