"""One check of an installation, and all those that need no server: clients, runs, places, model, telling and delivery.

Each says whether all is well, what was seen and how to mend it. Only the model is asked, and where somebody wants it.
"""

import os
import shlex
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

import msgspec

from slowwave.errors import SettingsError, SlowwaveError
from slowwave.jobs.lately import lately
from slowwave.memory.delivery.deliver import REFUSED, deliver
from slowwave.memory.delivery.hooks import failures
from slowwave.memory.delivery.register import Register, read_register
from slowwave.memory.delivery.targets import OF_AGENTS
from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.topics import INDEX
from slowwave.models.base import Ask, ModelError, model_of
from slowwave.models.command.process import found_program
from slowwave.models.meter import Meter
from slowwave.observability.night import Night
from slowwave.observability.webhook import host_of
from slowwave.places import archive_folder, config_folder, data_folder, scheduler_folder, state_folder
from slowwave.settings import ModelSettings, Settings
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.model import Discovery, newest_version, version_order


class Check(msgspec.Struct, frozen=True):
    """One check: its name, whether all is well, what was seen, and what to do.

    A check that is well may have a ``fix``, too: something that could be better.
    """

    name: str
    ok: bool
    seen: str
    fix: str = ""


# What a newer one writes may not be understood: nothing breaks then, it is kept and counted, but may miss in memories.
# The newest releases whose sessions and behaviour the tests hold (docs/conformance.md); of pi the form of its files.
TESTED = {"claude": "2.1.330", "codex": "0.169.0", "opencode": "1.18.33", "pi": "3"}


def clients(found: Discovery) -> Iterator[Check]:
    """Say of every client with a version whether the newest sessions come from one that was tested."""
    seen: list[str] = []
    newer: list[str] = []
    for dialect, tested in TESTED.items():
        newest = newest_version((s for p in found.projects for s in p.sessions), dialect)
        if newest:
            seen.append(f"{dialect} {newest}")
            if version_order(newest) > version_order(tested):
                newer.append(f"{dialect} {newest} (tested up to {tested})")
    if newer:
        fix = "update slowwave; sessions list shows what it does not understand (bad_lines), and nothing of it is lost"
        yield Check("clients", ok=True, seen=f"newer than what was tested: {', '.join(newer)}", fix=fix)
    else:
        yield Check("clients", ok=True, seen=", ".join(seen) or "no client that tells its version")


def runs(settings: Settings, environ: Mapping[str, str], now: datetime) -> Check:
    """Say whether every run came to its end."""
    past = lately(settings.model, environ, now)
    if past.problems:
        fix = "move that line or file away; what it told is lost"
        return Check("runs", ok=False, seen=f"{len(past.problems)} records, first: {past.problems[0]}", fix=fix)
    if past.stopped:
        last = past.stopped[-1]
        seen = f"{len(past.stopped)} stopped, last: {last.failures[0]}"
        return Check("runs", ok=False, seen=seen, fix=_going_on(last))
    if past.ahead:
        return Check("runs", ok=False, seen=past.ahead, fix="set this machine's clock; later nights pass by themselves")
    seen = f"{len(past.at_work)} at work, none stopped"
    if past.last is not None:
        seen += f"; the last one, {past.last.job}, ended as {past.last.outcome}"
    return Check("runs", ok=True, seen=seen)


def _going_on(stopped: Night) -> str:
    """Return what goes on with a run: the next of its job, but for a backfill, which has no next time."""
    if stopped.job == "backfill":
        return f"slowwave run backfill --resume {stopped.run_id}"
    return f"slowwave run {stopped.job}, or wait for its next time"


def telling(settings: Settings) -> Iterator[Check]:
    """Say where alarms and traces go, as far as the settings name a place; nothing is sent."""
    if settings.alarms.webhook:
        yield _address("webhook", settings.alarms.webhook, "alarms.webhook", "alarms")
    if settings.telemetry.otlp:
        if not _has_exporter():
            seen = "traces and metrics are wanted, and OpenTelemetry is not installed"
            yield Check("telemetry", ok=False, seen=seen, fix="install slowwave[otel], or leave telemetry.otlp empty")
        else:
            yield _address("telemetry", settings.telemetry.otlp, "telemetry.otlp", "traces and metrics")


def _has_exporter() -> bool:
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:  # a package above it
        return False


def _address(name: str, address: str, key: str, what: str) -> Check:
    try:
        return Check(name, ok=True, seen=f"{what} go to {host_of(address, key)}; nothing was sent now")
    except SettingsError as error:
        return Check(name, ok=False, seen=str(error), fix=f"correct {key}; until then {what} reach nobody")


LEAST_FREE = 1 << 30
_MOUNTS = Path("/proc/self/mounts")
# what has no locks that other hosts see, or no renames that happen at once
_LOOSE = ("fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "fuse.sshfs", "cifs", "smb3", "9p", "fuse.blobfuse2")
_NFS = ("nfs", "nfs4")


def first_there(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    return next(p for p in (path, *path.parents) if p.exists())


def disk(environ: Mapping[str, str], found: Discovery | None) -> Check:
    """Say whether every file system that is written to has room: a gigabyte, and names for new files."""
    places = [state_folder(environ), data_folder(environ), *(p.memory for p in (found.projects if found else ()))]
    tightest, least = places[0], None
    for place in places:
        there = first_there(place)
        names = os.statvfs(there)
        # file systems that make names as they need them tell 0 of 0
        if names.f_files and not names.f_favail:
            return Check("disk", ok=False, seen=f"no new file can be made in {there}", fix="remove files there")
        free = shutil.disk_usage(there).free
        if least is None or free < least:
            tightest, least = place, free
    seen = f"{(least or 0) / (1 << 30):.1f} GiB free for {tightest}"
    is_well = (least or 0) >= LEAST_FREE
    return Check("disk", ok=is_well, seen=seen, fix="" if is_well else "make at least 1 GiB free")


def private(environ: Mapping[str, str], found: Discovery) -> Check:
    """Say whether others may read what slowwave keeps: memories, candidates and archives tell what was said."""
    places = [state_folder(environ), data_folder(environ), scheduler_folder(environ)]
    places.append(config_folder(environ) / "fingerprint.key")
    places += [project.memory / OWN_FOLDER for project in found.projects]
    is_open = [p for p in places if p.exists() and _others_reach(p)]
    if not is_open:
        return Check("privacy", ok=True, seen="nobody else may read what slowwave keeps")
    seen = f"others may read {len(is_open)} places, first: {is_open[0]}"
    return Check("privacy", ok=True, seen=seen, fix=f"chmod -R go-rwx {is_open[0]}")


def _others_reach(path: Path) -> bool:
    """Say whether somebody outside of the group may read a place: all folders above must let them in."""
    if not path.stat().st_mode & stat.S_IROTH:
        return False
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents)


def storage(found: Discovery, mounts: Path = _MOUNTS) -> Check:
    """Say whether memory folders lie on storage on which two hosts are kept apart (decision 39)."""
    try:
        table = [line.split() for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines()]
    except OSError:
        return Check("storage", ok=True, seen="this system does not tell what its file systems are")
    kinds = {p.memory: _mount_of(p.memory, table) for p in found.projects}
    for memory, (kind, options) in kinds.items():
        if kind in _LOOSE:
            seen = f"{memory} lies on {kind}, where renames or locks do not hold across hosts"
            return Check(
                "storage", ok=False, seen=seen, fix="let one host alone dream there, or move it to a disk or NFS 4"
            )
        if kind in _NFS and ("nolock" in options or "local_lock=all" in options):
            fix = "mount it with locks; until then dream on one host alone"
            return Check("storage", ok=False, seen=f"{memory} lies on {kind} without locks", fix=fix)
    return Check("storage", ok=True, seen=f"memory folders lie on {_kinds(kind for kind, _ in kinds.values())}")


def _kinds(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names))) or "nothing yet"


def _mount_of(path: Path, table: list[list[str]]) -> tuple[str, list[str]]:
    """Return the kind and options of the file system that a path lies on."""
    there = os.path.realpath(first_there(path))
    fitting = [
        (len(row[1]), row[2], row[3].split(","))
        for row in table
        if len(row) > 3 and (there == row[1] or there.startswith(row[1].rstrip("/") + "/"))  # noqa: PLR2004 - its columns
    ]
    if not fitting:
        return "an unknown file system", []
    _, kind, options = max(fitting, key=lambda item: item[0])
    return kind, options


def archive(environ: Mapping[str, str], *, read_back: bool) -> Iterator[Check]:
    """Say whether the packs of the archive can be read; with ``read_back`` every byte of them."""
    shelf = Shelf(archive_folder(environ))
    try:
        sessions = len(list(shelf.sessions()))
        problems = shelf.check() if read_back else shelf.problems
        packs = len(shelf.packs())
    except SlowwaveError as error:
        yield Check("archive", ok=False, seen=str(error), fix="let this user read it")
        return
    how = "every byte read back" if read_back else "tables read (--archive reads every byte)"
    seen = f"{packs} packs with {sessions} sessions, {how}" if packs else "nothing was archived yet"
    if problems:
        seen = f"{len(problems)} packs or sessions cannot be read, first: {problems[0]}"
    fix = "restore the pack from a backup; until then nothing of it can be restored" if problems else ""
    yield Check("archive", ok=not problems, seen=seen, fix=fix)


_ASK = Ask(
    purpose="doctor",
    system="You answer with JSON.",
    user='Answer with {"ok": true}.',
    schema={
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "additionalProperties": False,
    },
    schema_name="doctor",
    max_output_tokens=64,
    line_form="Answer with the one word ok.",
)


def model(settings: Settings, environ: Mapping[str, str], *, ask: bool) -> Check:
    """Say which model there is; with ``ask`` whether it answers, in which form and at what cost."""
    given = settings.model
    if not (given.command or given.base_url or given.name):
        return Check("model", ok=True, seen="none, and none is needed")
    if not given.is_set:
        lacks = "name" if given.base_url else "base_url"
        return Check("model", ok=False, seen="only half of a model is set", fix=f"set model.{lacks}, too, or neither")
    where, fix = _place(given, environ)
    if given.command and found_program(given.command[0], environ) is None:
        return Check("model", ok=False, seen=f"{where}: there is no such program", fix="correct model.command or $PATH")
    if not ask:
        return Check("model", ok=True, seen=f"{where}; not asked (--model asks it one tiny question)")
    # now and once: a batch would answer another night, and a person is waiting
    once = msgspec.structs.replace(given, batch=False, retries=0)
    meter = Meter(once)
    found = model_of(msgspec.structs.replace(settings, model=once), environ, meter)
    assert found is not None
    try:
        answer = found.answer(_ASK)
    except ModelError as error:
        return Check("model", ok=False, seen=f"{where}: {error}", fix=f"{fix}; nights do without it until then")
    who = f"{program} " if (program := meter.spent().program) else ""
    tokens = answer.usage.prompt_tokens + answer.usage.completion_tokens
    counted = "estimated " if answer.usage.is_estimated else ""
    return Check("model", ok=True, seen=f"{where}, {who}answers by {answer.form} ({tokens} {counted}tokens)")


def _place(given: ModelSettings, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return where the model is, and what to correct where it does not answer."""
    if given.command:
        fix = "run the command by hand with a question on its standard input, log in there, or correct model.command"
        return f"the command {shlex.join(given.command)}", fix
    key = "with" if environ.get(given.api_key_env) else "without"
    where = f"{given.name} at {given.base_url}, {key} a key in ${given.api_key_env}"
    return where, "correct model.base_url, model.name or the key"


def delivery(found: Discovery, settings: Settings, environ: Mapping[str, str]) -> Check:
    """Say what stands where, what could not be brought, and how to have memories brought at all."""
    try:
        register = read_register(environ) or Register()
        items = deliver(found.projects, settings, environ, dry_run=True)
    except SlowwaveError as error:
        return Check("delivery", ok=False, seen=str(error), fix="follow that remedy")
    if not register.rules and not register.files and not register.hooks:
        unread = [
            p for p in found.projects if (p.memory / INDEX).exists() and {s.dialect for s in p.sessions} & {*OF_AGENTS}
        ]
        seen = "nobody asked for memories in files that agents read"
        if not unread:
            return Check("delivery", ok=True, seen=seen)
        seen += f"; {len(unread)} projects have clients that load none else, first: {unread[0].key}"
        return Check("delivery", ok=True, seen=seen, fix="slowwave install --dry-run shows what it would write")
    seen = f"{len(register.files)} files hold memories, and clients have {len(register.pages)} commands"
    if register.hooks:
        seen += f"; before calls of {', '.join(sorted(hooked.client for hooked in register.hooks.values()))}"
    if failed := failures(environ):
        seen += f"; the program before calls failed {len(failed)} times, last: {failed[-1]}"
    refused = [item for item in items if item.action == REFUSED]
    if refused:
        seen += f"; {len(refused)} things left alone, first: {refused[0].target}: {refused[0].reason}"
        return Check("delivery", ok=True, seen=seen, fix="slowwave install --dry-run shows all of them")
    if items:
        return Check(
            "delivery", ok=True, seen=f"{seen}; {len(items)} are not current", fix="the next night writes them"
        )
    return Check("delivery", ok=True, seen=f"{seen}, all current")
