"""Plays, races, ranking and sight as pure values: time and entropy come in as arguments."""
