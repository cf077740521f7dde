"""How Alembic runs the history: on the connection that schema.migrate() gives it, in its transaction."""

from __future__ import annotations

from alembic import context
from sqlalchemy import MetaData

from calibration.store.columns import NAMING

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=MetaData(naming_convention=NAMING),
    # Alembic assumes that SQLite commits at every statement; here it does not, so nothing half-done stays.
    transactional_ddl=True,
    transaction_per_migration=False,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
