"""The dream: gates, lock, orient, gather, consolidate, prune, commit."""
