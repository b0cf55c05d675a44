"""Alembic's environment: the connection comes from `migrations.migrate`, in a transaction of its own."""

from alembic import context

from brownout.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    compare_type=True,
    render_as_batch=True,
    transactional_ddl=False,  # the caller's transaction holds all of it, on both databases
)
context.run_migrations()
