"""A live context of any length without holding it: where its records stand, and its end as its client reads it.

A plan weighs the end of a context exactly and the rest by its bytes. So one pass over a session notes place and weight
of every record that its client would send (:mod:`trail`), and only the end is decoded (:mod:`window`). What lies
before it is read again, stretch by stretch, when its ledger is made.

There is no trail where a record says more than about itself: a compaction that the end does not hold, an id that stands
in the file twice, a result far from its call, an old version of a format. Such a session is read as a whole; the page
0034 of ``docs/decisions`` lists all of them.
"""
