"""What if: hypotheses as pure functions on the weighted graph, and the run they predict."""
