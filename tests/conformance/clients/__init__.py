"""What the real clients make of sessions that slowwave has written to; ``make conformance`` runs it."""
