"""Who somebody is: names, passwords and tokens."""
