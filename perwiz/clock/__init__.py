"""When it happened: offsets and their interpolation, the clock condition, the controlled logical clock and its quality figures."""
