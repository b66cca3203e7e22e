"""What it cost: the LogGPS model of a machine, its parameters, and the weights it gives."""

DIMEMAS = {"dimemas": "constant", "dimemas-linear": "linear", "dimemas-log": "logarithmic"}
"""Profiles of Dimemas, by its model of collectives: field 7 of the environment in its .cfg."""
PROFILES = ("loggopsim", "atlahs", "llamp", *DIMEMAS)
"""Of those beside perwiz itself."""
