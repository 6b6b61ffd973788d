"""Writing to sessions: one writer a dialect, each with the records that its client knows and no others."""
