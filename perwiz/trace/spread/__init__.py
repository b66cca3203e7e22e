"""A trace of which each of several processes has a part: whose rows are whose, and what they tell each other."""
