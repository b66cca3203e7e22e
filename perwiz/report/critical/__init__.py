"""The report of `perwiz critical`."""
