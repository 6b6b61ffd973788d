"""Extraction by a language model: it adds to what the miners found, passes the same rules, and may always fail."""
