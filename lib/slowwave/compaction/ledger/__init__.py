"""The exact ledger: what a region of a session comes down to without a model, in the sections that the seeds ask for.

Offline and deterministic: the same messages give the same bytes. :func:`ledger_of` collects, :func:`render` writes as
much as there is room for; changed files and error signatures are never left out.
"""

from slowwave.compaction.ledger.build import ledger_of
from slowwave.compaction.ledger.model import Entry, Ledger, LedgerSettings, Rendering
from slowwave.compaction.ledger.write import render, rendered

__all__ = ["Entry", "Ledger", "LedgerSettings", "Rendering", "ledger_of", "render", "rendered"]
