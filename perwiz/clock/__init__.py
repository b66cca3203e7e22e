"""When it happened: whether the clocks of a trace can be true."""
