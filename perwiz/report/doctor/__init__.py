"""The report of `perwiz doctor`."""
