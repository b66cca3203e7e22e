"""Algorithms of collectives: which messages go when, who takes which, and a recorded instance played by another one."""
