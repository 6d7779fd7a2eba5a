"""The steps of the pipeline: ingest, check, or all of them."""
