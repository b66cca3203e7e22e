"""The report of `perwiz domino` by several processes."""
