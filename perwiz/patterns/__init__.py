"""Wait states and what they come from: patterns found over the matched calls, their severity, their causes."""
