"""Slowwave: a nightly pipeline that turns coding-agent transcripts into memory, without ever losing anything."""

__version__ = "0.1.0"
