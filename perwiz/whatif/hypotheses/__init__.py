"""Hypotheses: each a pure function on the weighted graph, with a text form that parses back."""
