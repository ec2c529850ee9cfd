"""Reading: what viewers are told of plays and races, now and as logs grow."""
