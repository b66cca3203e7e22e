"""How sure an answer is: what the trace leaves open is varied, and computation that repeats tells how much it differs each time."""
