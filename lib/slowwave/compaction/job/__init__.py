"""Compaction as a job: which sessions are due, what is written to each, how it is undone, and what is known of it.

A session is read once (:mod:`reading`), asked whether it is due (:mod:`due`), planned (:mod:`planning`), summarised
(:mod:`summary`), drafted (:mod:`draft`) and appended to (:mod:`append`); :mod:`book` keeps what was done, beside the
transcripts.
"""
