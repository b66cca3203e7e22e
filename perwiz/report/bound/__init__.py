"""The report of `perwiz bound`."""
