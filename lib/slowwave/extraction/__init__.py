"""Transcripts to candidates: gates, statements and their classifier, what commands proved, redaction."""
