"""How far it can go: bounds, balance, curves, the critical path."""
