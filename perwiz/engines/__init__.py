"""Two engines, one answer: the compiled sweep, and a simulation that spells out what the sweep means."""
