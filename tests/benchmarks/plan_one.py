"""Plan the compaction of one session, as a dry run does, and print what it keeps and what it summarises."""

import sys
from pathlib import Path

from slowwave.compaction.items import read_session
from slowwave.compaction.plan import Budget, NoPlan, planned
from slowwave.formats import SessionFiles


def main() -> None:
    """Plan the file of the dialect named on the command line."""
    dialect, path = sys.argv[1], Path(sys.argv[2])
    plan = planned(read_session(dialect, SessionFiles(path.stem, (path,))), Budget())
    if isinstance(plan, NoPlan):
        sys.exit(plan.reason)
    print(len(plan.kept), plan.messages_summarised, plan.tokens_summarised)


if __name__ == "__main__":
    main()
