"""SQL. Everything that is stored goes through here, on SQLite and on Postgres alike."""
