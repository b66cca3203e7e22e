"""The report of `perwiz compare`."""
