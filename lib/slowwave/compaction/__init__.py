"""What to summarise of a session and what to keep, decided on data alone: nothing here reads or writes a file.

A session's active path becomes items with token estimates (:mod:`items`), a trigger says whether it is too large,
a cut says where the kept range begins, and a plan says all of it with reasons (:mod:`plan`). Where a source's own rule
loses messages or does nothing, the mended rule is the only one: no test of a source asserts the numbers of such a
defect (``tests/conformance`` names each).
"""
