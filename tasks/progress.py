"""How far a run is, for people who watch it: an artifact that moves by five percent at a time."""

from collections.abc import Callable
from typing import cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact

from slowwave.observability.progress import Watcher

# Every update is a call to the server and an event that it stores; few portions are over before anybody looks.
STEPS = 20


def progress(key: str, number: int) -> Callable[[int], None]:
    """Return a function that takes the number of portions done, of ``number`` in all."""
    if number < STEPS:
        return lambda _done: None
    artifact = cast("UUID", create_progress_artifact(progress=0.0, key=key, description="Portions done"))

    def show(done: int) -> None:
        if done * STEPS // number > (done - 1) * STEPS // number:
            update_progress_artifact(artifact, progress=100.0 * done / number)

    return show


class Shown:
    """Shows how far one step is as an artifact, and tells whoever else watches.

    Args:
        key: of the artifact.
        step: the step that is shown.
        other: who else watches.
    """

    def __init__(self, key: str, step: str, other: Watcher) -> None:
        self._key, self._step, self._other = key, step, other
        self._show: Callable[[int], None] = lambda _done: None
        self._done = 0

    def plan(self, step: str, total: int) -> None:
        """Show a step that begins."""
        if step == self._step:
            self._show, self._done = progress(self._key, total), 0
        self._other.plan(step, total)

    def done(self, step: str, what: str) -> None:
        """Show that one more is done."""
        if step == self._step:
            self._done += 1
            self._show(self._done)
        self._other.done(step, what)
