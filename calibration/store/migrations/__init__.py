"""The one history of the schema, for both databases; run by calibration.store.schema."""
