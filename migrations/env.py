"""Runs the revisions on the connection that `service.storage.migrate` has made and locked.

There is no alembic.ini and no offline mode: `samedeal migrate` is the only way in, so that nobody
migrates past the lock.
"""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    # On SQLite too (Alembic's default there is not to): one transaction from start to end, so
    # that a process killed in it leaves the schema as it was.
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
