"""The proof of a compaction: questions that the messages answer, asked of the summary that shall stand for them.

:func:`probes_of` makes the questions from what goes away, independently of how the ledger chooses its lines;
:func:`checked` asks them and tells what is lost and where it can be read back; :func:`verdict` decides.
"""

from slowwave.compaction.proof.check import checked
from slowwave.compaction.proof.model import KINDS, Loss, Probe, ProbeKind, Verdict
from slowwave.compaction.proof.probes import probes_of
from slowwave.compaction.proof.verdict import THRESHOLD, verdict

__all__ = ["KINDS", "THRESHOLD", "Loss", "Probe", "ProbeKind", "Verdict", "checked", "probes_of", "verdict"]
