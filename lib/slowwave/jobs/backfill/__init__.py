"""Operator backfills: extraction over a past range, in shards that any machine may work on, as one undoable run.

A plan says what is read (:mod:`.plan`), workers read it piece by piece into files of their own (:mod:`.shard`), and
what they found lands in the memory folders in the order of the plan (:mod:`.landing`), whoever read it when. So a run
that was killed, paused or spread over many machines leaves the bytes of one that was not, and can be taken back.
"""
