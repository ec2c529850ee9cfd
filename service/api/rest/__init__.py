"""The REST paths, one module a noun."""
