"""Two runs, call by call."""
