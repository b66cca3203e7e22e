"""The report of `perwiz curve`."""
