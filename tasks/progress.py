"""How far a run is, for people who watch it: an artifact that moves by five percent at a time."""

from collections.abc import Callable
from typing import cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact

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
