"""The report of `perwiz info`."""
