"""Codex: bare, wrapped and paginated rollouts."""
