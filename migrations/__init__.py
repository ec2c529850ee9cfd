"""The schema and its history, for Alembic. Shipped as `service.migrations`."""
