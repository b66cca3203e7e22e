"""Links between nodes: which a topology has, which messages pass them, and what they lose to one another there."""
