"""Cersei: its transcripts and its file of bare messages."""
