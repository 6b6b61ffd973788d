"""A backfill through Prefect in a process of its own, in shards of few sessions, with the parameters of a JSON file.

``python -m tests.faults.cluster_run FILE`` prints the name of the state that the flow ends in.
"""

import sys
from pathlib import Path

from slowwave.jobs.backfill import plan
from slowwave.jobs.parameters import BackfillParameters
from slowwave.service.server import entrypoint_of, load_job

if __name__ == "__main__":
    plan.cut.__kwdefaults__ = {"most_sessions": 2, "enough_bytes": 1 << 30}
    plan.sharded.__kwdefaults__ = {"most_sessions": 4, "enough_bytes": 1 << 30}
    given = BackfillParameters.model_validate_json(Path(sys.argv[1]).read_bytes())
    state = load_job(entrypoint_of("backfill"))(given.model_dump(mode="json"), return_state=True)
    print(state.name, state.message or "")
