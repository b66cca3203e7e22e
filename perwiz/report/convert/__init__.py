"""The report of `perwiz convert`."""
