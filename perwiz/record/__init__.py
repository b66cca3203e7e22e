"""Recording a run of an MPI program: the recorder in C, its generated wrappers, and the launcher."""
