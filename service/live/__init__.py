"""Wakes: how the processes of a service tell one another that a log has grown."""
