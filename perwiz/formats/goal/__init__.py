"""GOAL: schedules of operations, as LogGOPSim takes them."""
