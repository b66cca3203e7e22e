"""The report of `perwiz balance`."""
