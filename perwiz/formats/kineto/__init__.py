"""Traces of the PyTorch profiler: Trace Event JSON that Kineto writes, a file per rank."""
