"""One module per schema; `brownout.store.schema.SCHEMA` names the newest."""
