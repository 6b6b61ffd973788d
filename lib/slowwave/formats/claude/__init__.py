"""Claude Code 1.0, 2.0 and 2.1."""
