"""The report of `perwiz domino`."""
