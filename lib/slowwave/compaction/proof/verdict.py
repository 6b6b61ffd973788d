"""Whether a summary is good enough to stand for what it summarises."""

from slowwave.compaction.proof.model import Loss, ProbeKind, Verdict

THRESHOLD = 0.6
# the cheapest to keep and the dearest to lose: no summary does without them
ALWAYS: tuple[tuple[ProbeKind, str], ...] = (("modified", "changed files"), ("error", "errors"))


def verdict(loss: Loss, threshold: float = THRESHOLD) -> Verdict:
    """Return whether a summary passes; every changed file and every error must be told, whatever the threshold.

    Args:
        loss: what became of the probes.
        threshold: the least score, from 0 to 1; 0 asks for nothing at all.
    """
    if threshold <= 0:
        return Verdict(passes=True)
    for kind, name in ALWAYS:
        number = sum(probe.kind == kind for probe in loss.lost)
        if number:
            return Verdict(passes=False, reason=f"{number} of {loss.total[kind]} {name} are not told")
    if loss.score < threshold:
        return Verdict(passes=False, reason=f"it keeps {loss.score:.0%} of what was asked for, {threshold:.0%} needed")
    return Verdict(passes=True)
