"""Two hosts dream over one memory folder on shared storage that has no locks at all.

The second host takes the first one for dead: it was suspended, or the network between them was gone. Then the first one
wakes up at the worst moments of its commit. No dream of the second host may be lost by that.
"""

import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from slowwave import locks
from slowwave.consolidation import lock as lock_module
from slowwave.consolidation.lock import held, refusal
from slowwave.errors import LockHeldError, LockLostError
from slowwave.memory import transaction
from slowwave.memory.book import read_book
from slowwave.memory.folder import LOCK_FILE, OWN_FOLDER, siblings
from slowwave.settings import ConsolidationSettings
from tests.unit.consolidation.dreams import House

STALE = ConsolidationSettings().lock_stale


@pytest.fixture(autouse=True)
def _without_locks(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """A mount without locks: the kernel's lock keeps nobody away."""

    @contextmanager
    def open_door(memory: Path) -> Generator[None]:
        (memory / OWN_FOLDER).mkdir(parents=True, exist_ok=True)
        yield

    monkeypatch.setattr(transaction, "guarded", open_door)
    monkeypatch.setattr(lock_module, "guarded", open_door)


def _free(*_args: object) -> str:
    """Take every lock for stale."""
    return ""


@contextmanager
def another_host(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Be a host whose clock says that every lock here is long stale."""
    with monkeypatch.context() as there:
        there.setattr(socket, "gethostname", lambda: "other")
        there.setattr(locks, "_boot", lambda: "another boot")
        there.setattr(lock_module, "refusal", _free)
        yield


def house_with_work(tmp_path: Path) -> House:
    house = House(tmp_path)
    house.extract(house.candidate("Use npm for installs", session="a"))
    house.dream()
    house.clock.advance(days=1)
    house.extract(house.candidate("Never push on a Friday", session="b"))
    return house


def texts(house: House) -> set[str]:
    return {memory.text for memory in read_book(house.memory).memories.values()}


@pytest.mark.parametrize(
    "where",
    [
        "build_stage",  # it is planned, and nothing is built yet
        "exchange",  # built and the lock was checked, nothing is exchanged
        "_settle",  # exchanged, and not looked at yet
    ],
)
def test_a_host_that_wakes_up_in_the_middle_of_its_commit_loses_nothing_of_the_other_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    house = house_with_work(tmp_path)
    real: Callable[..., Any] = getattr(transaction, where)
    others: list[str] = []

    def woken(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(transaction, where, real)
        with another_host(monkeypatch):
            house.extract(house.candidate("The API answers in JSON", session="c", category="project"))
            others.extend(house.dream().dream_ids)
        return real(*args, **kwargs)

    monkeypatch.setattr(transaction, where, woken)
    if where == "build_stage":
        with pytest.raises(LockLostError, match="taken over meanwhile; nothing was committed"):
            house.dream()
    else:
        # between check and exchange: the other host dreamt of the same, and cleared away what this one built;
        # behind the exchange: the commit was whole, and the other host dreamt on top of it
        assert len(house.dream().dream_ids) == (where == "_settle")
    assert len(others) == 1
    dreams = list(read_book(house.memory).dreams)
    assert others[0] in dreams, f"the other host's dream is gone: {dreams}"
    assert "The API answers in JSON" in texts(house)

    # whatever the late one had to leave, the next night does; nothing lies around then
    house.clock.advance(days=1)
    house.extract(house.candidate("Tests are run with make", session="d", category="pattern"))
    house.dream()
    assert {"Never push on a Friday", "The API answers in JSON", "Tests are run with make"} <= texts(house)
    assert len(dreams) == len(set(dreams))
    assert not siblings(house.memory)
    assert not (house.memory / LOCK_FILE).exists()


def test_a_living_host_is_never_taken_for_dead_by_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = tmp_path / "memory"
    with held(memory, STALE), monkeypatch.context() as there:
        there.setattr(socket, "gethostname", lambda: "other")
        there.setattr(locks, "_boot", lambda: "another boot")
        assert f"on {socket.gethostname()}" not in refusal(memory, STALE)
        assert "held by process" in refusal(memory, STALE)
        with pytest.raises(LockHeldError), held(memory, STALE):
            pass
        # on its own host it would be known at once that the process is gone; another one waits for the age
        lock = memory / LOCK_FILE
        assert refusal(memory, STALE, lambda: lock.stat().st_mtime + STALE.total_seconds() + 1) == ""
