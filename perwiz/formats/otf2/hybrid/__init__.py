"""What threads and devices record in an OTF2 archive: routines, teams, locks, tasks, streams."""
