"""The machine of a trace, fitted to it."""
