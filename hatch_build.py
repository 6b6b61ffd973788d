"""Writes into what is built from a checkout which commit that is: ``slowwave --version`` tells it."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from slowwave import commit_of

# in a source distribution, from which a wheel can be made where no git is
RECORD = "COMMIT"


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the record to wheels and source distributions; an editable install asks git whenever it is asked."""

    _record: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the record and name its place in what is built; without a commit there is none."""
        root = Path(self.root)
        commit = commit_of(root)
        if version == "editable" or not commit:
            return
        self._record = Path(self.directory) / RECORD
        self._record.parent.mkdir(parents=True, exist_ok=True)
        self._record.write_text(commit, encoding="utf-8")
        place = f"slowwave/{RECORD}" if self.target_name == "wheel" else RECORD
        build_data["force_include"][str(self._record)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the record from beside what was built."""
        if self._record:
            self._record.unlink()
