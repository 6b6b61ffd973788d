"""Transcripts to candidates: gates, typed events, offline miners, redaction."""
