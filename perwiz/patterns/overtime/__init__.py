"""Behaviour over time: the run in parts, what each is, and where that changes."""
