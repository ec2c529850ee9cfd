"""Every table there is, for whoever looks at the schema as a whole."""

from service.storage import competition_tables, solver_tables
from service.storage.tables import metadata

PARTS = (competition_tables, solver_tables)

__all__ = ["metadata"]
