"""Compaction: which sessions are due, what is summarised of each and what stays, what is written, and how it is undone.

What is decided is decided on data alone: a session is read once, its active path becomes items with token estimates
(:mod:`items`), a trigger says whether it is too large, and a plan with reasons says where the kept range begins
(:mod:`plan`). Where a source's own rule loses messages or does nothing, the mended rule is the only one: no test of a
source asserts the numbers of such a defect (``tests/conformance`` names each). As a job (:mod:`story`) a session is
summarised (:mod:`summary`), drafted and appended to (:mod:`append`); :mod:`book` keeps what was done, beside the
transcripts.
"""
