"""What had to come before what: the happened-before graph of a trace, without times."""
