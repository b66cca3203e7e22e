"""The parts of a written ALOG file."""
