"""What it cost: the LogGPS model of a machine, its parameters, and the weights it gives."""
