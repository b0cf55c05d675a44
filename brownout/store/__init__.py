"""The configuration on disk, and who is told when it changes."""

from brownout.store.errors import SchemaMismatch, StoreError, StoreInUse, StoreUnavailable
from brownout.store.feed import ChangeFeed
from brownout.store.history import FormerFleet, History
from brownout.store.schema import SCHEMA, check_schema
from brownout.store.store import Store

__all__ = [
    "SCHEMA",
    "ChangeFeed",
    "FormerFleet",
    "History",
    "SchemaMismatch",
    "Store",
    "StoreError",
    "StoreInUse",
    "StoreUnavailable",
    "check_schema",
]
