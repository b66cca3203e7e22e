"""Traces of DUMPI, as SST's libdumpi writes them: read only."""
