"""The report of `mpiexec perwiz predict`."""
