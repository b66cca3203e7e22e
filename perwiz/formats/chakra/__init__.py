"""Execution traces of Chakra: what each rank of a training job does, as nodes that need each other; ASTRA-sim takes them."""
