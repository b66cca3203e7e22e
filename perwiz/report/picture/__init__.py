"""Pictures of timelines."""
