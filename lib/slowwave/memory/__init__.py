"""Memory folders: candidates, evidence, the ledger, the files that agents load, undo."""
