"""The report of `perwiz patterns`."""
