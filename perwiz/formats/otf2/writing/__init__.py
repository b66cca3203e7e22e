"""The parts of a written OTF2 archive."""
