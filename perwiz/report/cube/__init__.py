"""The report of `perwiz cube`."""
