"""What a session means, in order: who said what, what was asked and chosen, refused, run, changed and proven.

One pure function, :func:`slowwave.reading.session.read`, turns the messages of any client into it; extraction, the
ledger of a compaction and ``sessions show`` look at nothing else.
"""
