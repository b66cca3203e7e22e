"""The report of `perwiz predict`."""
