"""The breaker that stops compacting a session after failures in a row (Cersei: ``AutoCompactState``)."""

from typing import NamedTuple

MOST_FAILURES = 3


class Breaker(NamedTuple):
    """How compactions of one session went; never changed, every outcome gives a new one.

    Attributes:
        compactions: how many succeeded.
        failures: how many failed since the last that succeeded.
        is_open: too many failed in a row; it stays open, since trying again at every turn costs a model call each.
    """

    compactions: int = 0
    failures: int = 0
    is_open: bool = False

    def succeeded(self) -> "Breaker":
        """Return the breaker after a compaction."""
        return self._replace(compactions=self.compactions + 1, failures=0)

    def failed(self) -> "Breaker":
        """Return the breaker after a failure."""
        failures = self.failures + 1
        return self._replace(failures=failures, is_open=self.is_open or failures >= MOST_FAILURES)
