"""What can be wrong with the store as a whole."""

# ruff: noqa: N818 (each name says what happened)


class StoreError(Exception):
    """Base of the errors below; `str()` says what to do."""


class StoreUnavailable(StoreError):
    """The database could not be read or written; nothing of the transaction was kept."""


class StoreInUse(StoreError):
    """Another process has the SQLite file."""


class SchemaMismatch(StoreError):
    """The database's schema is not the one that this version works with."""
