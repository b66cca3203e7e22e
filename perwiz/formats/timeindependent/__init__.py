"""Time-independent traces of SimGrid: what every process calls and how many flops it computes in between, without any time."""
