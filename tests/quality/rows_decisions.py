"""Decisions: tasks in which a rule is settled by talking, and whether a night's memory holds the values that a hidden
test asks for; beside all that was said, the last messages, and the best turns of a search. The script that measures it
lies beside the checkout and is run as it is.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.quality.beside import SHARED, missing
from tests.quality.table import Section, Table

SCRIPT, TASKS = SHARED / "decisions" / "score.py", SHARED / "decisions" / "tasks.jsonl"
_TOTAL = re.compile(r"^(\S.*?) +values ([\d.]+)  complete (\d+/\d+)(?:  bytes a task (\d+))?$", re.MULTILINE)


def measure(*, errors: bool = False) -> Section:
    """Run a night over the tasks.

    Raises:
        RuntimeError: the script failed, or says something else than it used to.
    """
    absent = missing(SCRIPT, TASKS)
    if absent:
        return Section(skipped=absent)
    command = Path(sys.executable).with_name("slowwave")
    asked = [sys.executable, str(SCRIPT), str(command), str(TASKS), *(["--show"] if errors else [])]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, env=dict(os.environ))
    rows = [(name, values, complete, size or "-") for name, values, complete, size in _TOTAL.findall(done.stdout)]
    if done.returncode or not rows:
        raise RuntimeError(f"{SCRIPT.name}: {done.stderr.strip()[-300:] or 'no figures'}")
    table = Table("Values that a hidden test asks for", ("", "values", "complete", "bytes a task"), rows)
    return Section([table], notes=[done.stdout] if errors else [])
