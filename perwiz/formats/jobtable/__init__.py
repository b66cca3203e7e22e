"""Tables of the operations of training jobs, a row for each: computation, pipeline and what data-parallel ranks do together."""
