"""The report of `perwiz correct`."""
