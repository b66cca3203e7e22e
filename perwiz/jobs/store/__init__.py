"""The database of jobs: records in, sums out."""
