"""Checks of this installation: each says what it looked at, whether that is well, and how to mend it.

Nothing is changed, not even a folder made. A check that cannot be carried out is a check that failed.
"""

import os
import re
import shlex
import shutil
import stat
import subprocess
import urllib.error
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from slowwave.consolidation.gates import read_state
from slowwave.consolidation.lock import refusal
from slowwave.context import Clock
from slowwave.errors import ServerError, SettingsError, SlowwaveError
from slowwave.files import (
    archive_folder,
    config_folder,
    data_folder,
    home_folder,
    is_leftover,
    scheduler_folder,
    state_folder,
)
from slowwave.formats import parse_time
from slowwave.formats.registry import CLIENTS, version_order
from slowwave.jobs.status import lately
from slowwave.memory.book import read_book
from slowwave.memory.delivery import OF_AGENTS, REFUSED, Register, read_register, unfit
from slowwave.memory.delivery.files import deliver
from slowwave.memory.delivery.hooks import failures
from slowwave.memory.folder import INDEX, LOCK_FILE, OWN_FOLDER, siblings
from slowwave.models import model_of
from slowwave.models.base import Ask, Meter, ModelError
from slowwave.models.command import found_program
from slowwave.observability.night import Night, state
from slowwave.observability.telemetry import host_of
from slowwave.quantities import counted
from slowwave.secrets import NAMELESS
from slowwave.service.deployments import (
    COUNTS_FOR,
    HEARD_S,
    PASSES_OVER,
    server_doubts,
    when,
    worker_command,
    workers_here,
)
from slowwave.service.page_server import served_place
from slowwave.service.server import HOST, asked, is_healthy, kept_port, named_server
from slowwave.settings import ModelSettings, Settings
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.discovery import find_projects
from slowwave.stores.projects import Discovery, Project

# Files from a machine whose clock runs a little ahead are no reason to worry.
AHEAD = timedelta(hours=1)


class Check(msgspec.Struct, frozen=True):
    """One check: its name, whether all is well, what was seen, and what to do.

    A check that is well may have a ``fix``, too: something that could be better.
    """

    name: str
    ok: bool
    seen: str
    fix: str = ""


def checks(
    settings: Settings, environ: Mapping[str, str], clock: Clock, *, ask_model: bool = False, read_archive: bool = False
) -> Iterator[Check]:
    """Yield every check, cheap ones first.

    ``ask_model`` asks the language model one tiny question, where one is set; ``read_archive`` reads every byte of the
    archive.
    """
    yield Check("settings", ok=True, seen="all keys are known and all values well formed")
    yield from scheduler(environ, clock.now())
    yield model(settings, environ, ask=ask_model)
    yield from telling(settings)
    yield runs(settings, environ, clock.now())
    try:
        found = find_projects(settings, environ)
    except SlowwaveError as error:
        yield disk(environ, None)
        yield Check("stores", ok=False, seen=str(error), fix="name the store with --store or store.roots")
        return
    yield disk(environ, found)
    yield _stores(found)
    yield from clients(found)
    yield _clock(found, clock.now())
    yield from _permissions(found)
    yield private(environ, found)
    yield storage(found)
    yield from _locks(found, settings)
    yield from _leftovers(found)
    yield from _states(found, clock.now())
    yield delivery(found, settings, environ)
    yield from archive(environ, read_back=read_archive)


def _stores(found: Discovery) -> Check:
    sessions = Counter(s.dialect for p in found.projects for s in p.sessions)
    by_client = ", ".join(f"{number} {dialect}" for dialect, number in sorted(sessions.items()))
    seen = f"{len(found.projects)} projects with {sessions.total()} sessions" + (f" ({by_client})" if by_client else "")
    if found.problems:
        seen += f"; {len(found.problems)} left out, first: {found.problems[0]}"
    fix = "" if sessions else "name the store with --store DIR or store.roots in the settings"
    return Check("stores", ok=bool(sessions), seen=seen, fix=fix)


def _clock(found: Discovery, now: datetime) -> Check:
    newest = max((s.mtime_ns for p in found.projects for s in p.sessions), default=0)
    latest = datetime.fromtimestamp(newest / 1e9, UTC)
    if latest > now + AHEAD:
        seen = f"it is {now:%Y-%m-%d %H:%M} UTC, but a session was written at {latest:%Y-%m-%d %H:%M}"
        return Check(
            "clock", ok=False, seen=seen, fix="set this machine's clock, or touch the sessions from the future"
        )
    return Check("clock", ok=True, seen=f"{now:%Y-%m-%d %H:%M} UTC")


def _permissions(found: Discovery) -> Iterator[Check]:
    closed = [p.memory for p in found.projects if not os.access(first_there(p.memory), os.W_OK | os.X_OK)]
    closed += [p.memory for p in found.projects if p.memory.exists() and not p.memory.is_dir()]
    unread = [f for p in found.projects for s in p.sessions for f in s.files.paths if not os.access(f, os.R_OK)]
    if not closed and not unread:
        yield Check("permissions", ok=True, seen="every session can be read and every memory folder written")
    if closed:
        seen = f"{len(closed)} memory folders cannot be written, first: {closed[0]}"
        yield Check("permissions", ok=False, seen=seen, fix=f"chown or chmod u+rwx {closed[0]}")
    if unread:
        seen = f"{len(unread)} session files cannot be read, first: {unread[0]}"
        yield Check("permissions", ok=False, seen=seen, fix=f"chmod u+r {unread[0]}")


def _locks(found: Discovery, settings: Settings) -> Iterator[Check]:
    present = [p for p in found.projects if (p.memory / LOCK_FILE).exists()]
    stale = [p for p in present if not refusal(p.memory, settings.consolidation.lock_stale)]
    if stale:
        path = stale[0].memory / LOCK_FILE
        seen = f"{len(stale)} locks whose owner is gone, first: {path}"
        yield Check("locks", ok=False, seen=seen, fix="the next dream takes them over; or remove them by hand")
    else:
        yield Check("locks", ok=True, seen=f"{len(present)} held, none stale")


def _leftovers(found: Discovery) -> Iterator[Check]:
    left = [path for project in found.projects for path in _left_behind(project)]
    if left:
        seen = f"{len(left)} files or folders of a run that was killed, first: {left[0]}"
        yield Check("leftovers", ok=False, seen=seen, fix="the next dream of the project clears them away")
    else:
        yield Check("leftovers", ok=True, seen="no run left anything behind")


def _left_behind(project: Project) -> Iterator[Path]:
    yield from (path for _, _, path in siblings(project.memory))
    for folder in (project.memory, project.memory / OWN_FOLDER):
        if folder.is_dir() and os.access(folder, os.R_OK | os.X_OK):
            yield from (Path(entry) for entry in os.scandir(folder) if is_leftover(entry.name))


def _states(found: Discovery, now: datetime) -> Iterator[Check]:
    wrong: list[str] = []
    for project in found.projects:
        try:
            last = read_state(project.memory)
            read_book(project.memory)
        except SlowwaveError as error:
            wrong.append(str(error))
            continue
        if last is not None and last > now.timestamp() + AHEAD.total_seconds():
            wrong.append(f"{project.memory}: the last dream lies in the future; correct the clock or the state")
    if wrong:
        yield Check("state", ok=False, seen=f"{len(wrong)} projects, first: {wrong[0]}", fix="follow that remedy")
    else:
        yield Check("state", ok=True, seen="every project's state and ledger can be read")


# One check of an installation, and all those that need no server: clients, runs, places, model, telling and delivery.
#
# Each says whether all is well, what was seen and how to mend it. Only the model is asked, and where somebody wants it.

# What a newer one writes may not be understood: nothing breaks then, it is kept and counted, but may miss in memories.


def clients(found: Discovery) -> Iterator[Check]:
    """Say of every client with a version whether the one that counts was tested."""
    told: list[str] = []
    newer: list[str] = []
    for dialect, tested in ((name, client.tested) for name, client in CLIENTS.items() if client.tested):
        seen = next((p.versions[dialect] for p in found.projects if dialect in p.versions), None)
        if seen is not None:
            told.append(f"{dialect} {seen.told}")
            if version_order(seen.version) > version_order(tested):
                newer.append(f"{dialect} {seen.told} (tested up to {tested})")
    if newer:
        fix = "update slowwave; sessions list shows what it does not understand (bad_lines), and nothing of it is lost"
        yield Check("clients", ok=True, seen=f"newer than what was tested: {', '.join(newer)}", fix=fix)
    else:
        said = f"the newest seen: {', '.join(told)}" if told else "no session names a version of its client"
        yield Check("clients", ok=True, seen=said)


def runs(settings: Settings, environ: Mapping[str, str], now: datetime) -> Check:
    """Say whether every run came to its end."""
    past = lately(settings.model, environ, now)
    if past.problems:
        fix = "move that line or file away; what it told is lost"
        return Check("runs", ok=False, seen=f"{len(past.problems)} records, first: {past.problems[0]}", fix=fix)
    if stopped := [night for night in past.stopped if not night.ended]:
        last = stopped[-1]
        seen = f"{len(stopped)} stopped, last: {last.failures[0]}"
        return Check("runs", ok=False, seen=seen, fix=_going_on(last))
    if past.ahead:
        return Check("runs", ok=False, seen=past.ahead, fix="set this machine's clock; later nights pass by themselves")
    if past.stopped:
        return Check("runs", ok=True, seen=f"{len(past.at_work)} at work; {past.stopped[-1].ended}")
    seen = f"{len(past.at_work)} at work, none stopped"
    if (last := past.since or past.last) is not None:
        seen += f"; the last one, {last.job}, ended: {state(last)}"
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
    told = ", ".join(sorted({kind for kind, _ in kinds.values()})) or "nothing yet"
    return Check("storage", ok=True, seen=f"memory folders lie on {told}")


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
    seen = (
        f"{counted(packs, 'pack')} with {counted(sessions, 'session')}, {how}" if packs else "nothing was archived yet"
    )
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
            p
            for p in found.projects
            if (p.memory / INDEX).exists()
            and {s.dialect for s in p.sessions} & {*OF_AGENTS}
            and not unfit(p.root, environ)
        ]
        seen = "nobody asked for memories in files that agents read"
        if not unread:
            return Check("delivery", ok=True, seen=seen)
        many = f"{len(unread)} projects have clients that load none" if len(unread) > 1 else "a client loads none"
        seen += f"; {many} otherwise, {'first' if len(unread) > 1 else 'in'}: {unread[0].key}"
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


# Checks of the Prefect server: whether it answers, and whether it will really start the next night.
#
# A server that is up and does nothing is what nobody notices, so its deployment, schedule and workers are looked at.
# All is asked over HTTP: importing Prefect would take longer than the answers.

_DEPLOY = "slowwave deploy --create-pool"
_WAIT_S = 10
# a server that is well makes the runs of a new schedule within one round of its scheduler, a minute
_FRESH = timedelta(minutes=3)


def scheduler(environ: Mapping[str, str], now: datetime) -> Iterator[Check]:
    """Yield the checks of the server that ``PREFECT_API_URL`` or Prefect's active profile names, if any."""
    release = f"Prefect {version('prefect')}"
    try:
        api = named_server(environ)
    except ServerError as error:
        yield Check("prefect", ok=False, seen=str(error), fix="fix or remove that file")
        return
    if not api and served_place(environ):
        yield from _of_serve(environ, release, now)
        return
    if not api:
        where = "no server is set up and no slowwave serve is at work"
        yield Check("prefect", ok=True, seen=f"{release}; {where}: jobs run in the process of their command")
        yield _of_machine(environ)
        return
    if not is_healthy(api):
        fix = "start the server (prefect server start), correct PREFECT_API_URL, or run jobs with --direct"
        yield Check("prefect", ok=False, seen=f"{release}; the server at {api} does not answer", fix=fix)
        return
    try:
        yield from _of_server(api, release, environ.get("PREFECT_API_AUTH_STRING", ""), now)
    except (urllib.error.URLError, OSError, ValueError, LookupError, TypeError) as error:
        fix = "set PREFECT_API_AUTH_STRING where the server asks for it, or update the server"
        yield Check("prefect", ok=False, seen=f"the server at {api} answers strangely: {error}", fix=fix)


# what starts things on this machine, besides a Prefect server: units that are switched on, and jobs of launchd
_SYSTEM_UNITS = (Path("/etc/systemd/system"), Path("/etc/systemd/user"))
_CRON = (Path("/etc/crontab"), Path("/etc/cron.d"))


def _of_machine(environ: Mapping[str, str]) -> Check:
    """Say what cron, systemd or launchd start of slowwave; nothing of a server is known here."""
    found = [f"{where}: {what}" for where, what in _started(environ)]
    if found:
        return Check("schedule", ok=True, seen=f"on this machine, {'; '.join(found)}")
    # the environment of a service has no path to it
    program = shutil.which("slowwave", path=environ.get("PATH")) or "slowwave"
    line = f'(crontab -l; echo "30 3 * * * {program} run nightly") | crontab -'
    fix = f"slowwave serve, which runs every night until it is stopped; or by cron: {line}"
    return Check("schedule", ok=True, seen="nothing is scheduled: a night runs when you start it", fix=fix)


def _started(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each entry that starts slowwave: who has it, and its line or name."""
    tables = [file for path in _CRON for file in (sorted(path.glob("*")) if path.is_dir() else [path])]
    lines = [line for table in tables for line in _lines(table)]
    if program := shutil.which("crontab", path=environ.get("PATH")):
        try:
            told = subprocess.run(  # noqa: S603 - the person's own table of cron, which is only shown
                [program, "-l"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_WAIT_S
            )
            lines += told.stdout.splitlines()
        except (OSError, subprocess.TimeoutExpired) as error:
            yield "cron", f"crontab -l gave no answer ({error})"
    yield from (("cron", NAMELESS(" ".join(line.split()))) for line in lines if re.match(r"[^#]*slowwave", line))
    folders = (*_SYSTEM_UNITS, config_folder(environ).parent / "systemd" / "user")
    for unit in sorted(one for folder in folders for one in folder.glob("*.wants/*")):
        if "slowwave" in unit.name or any("slowwave" in line for line in _lines(unit)):
            yield "systemd", unit.name
    for job in sorted((home_folder(environ) / "Library" / "LaunchAgents").glob("*.plist")):
        if any("slowwave" in line for line in _lines(job)):
            yield "launchd", job.name


def _lines(path: Path) -> list[str]:
    """Return the lines of a file, none where it is not there or not ours to read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _of_serve(environ: Mapping[str, str], release: str, now: datetime) -> Iterator[Check]:
    """Look at what ``slowwave serve`` has on its schedule: on its own server, or on one that only its shell names."""
    api = f"http://{HOST}:{kept_port(scheduler_folder(environ))}/api"
    if is_healthy(api):
        yield from _of_server(api, release, "", now)
    else:
        seen = f"{release}; slowwave serve is at work, and schedules nights on a server that is not named here"
        yield Check("prefect", ok=True, seen=seen)


def _of_server(api: str, release: str, auth: str, now: datetime) -> Iterator[Check]:
    doubts = list(server_doubts(asked(api, "/admin/settings", auth)))
    fix = doubts[0] if doubts else ""
    yield Check("prefect", ok=True, seen=f"{release}; the server at {api} answers", fix=fix)
    wanted = {"flows": {"name": {"any_": ["nightly"]}}, "sort": "NAME_ASC"}
    nights: list[dict[str, Any]] = asked(api, "/deployments/filter", auth, wanted) or []
    if not nights:
        yield Check("schedule", ok=False, seen=f"the server at {api} has no deployment nightly", fix=_DEPLOY)
        return
    # people, or classes of machines, may have a pool each
    for nightly in nights:
        yield _schedule(nightly, _next_night(api, nightly, auth), now)
        yield _worker(api, nightly, auth, now)


def _next_night(api: str, nightly: Mapping[str, Any], auth: str) -> str:
    """Return when the server will start the next night, "" where it has made no run for it."""
    wanted = {
        "deployments": {"id": {"any_": [nightly["id"]]}},
        "flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}},
        "sort": "EXPECTED_START_TIME_ASC",
        "limit": 1,
    }
    runs: list[dict[str, Any]] = asked(api, "/flow_runs/filter", auth, wanted) or []
    return runs[0]["expected_start_time"][:16].replace("T", " ") if runs else ""


def _schedule(nightly: Mapping[str, Any], following: str, now: datetime) -> Check:
    on = [s for s in nightly["schedules"] if s["active"]]
    if nightly["paused"] or not on:
        what = "is paused" if nightly["paused"] else "has no schedule that is on"
        fix = "prefect deployment schedule resume --all, or the switch on its page"
        return Check("schedule", ok=False, seen=f"the deployment {nightly['name']} {what}: no night will run", fix=fix)
    at = " and ".join(when(s["schedule"]) for s in on)
    if not following and now - _deployed(nightly, on) < _FRESH:
        seen = f"{nightly['name']}, {at}; deployed a moment ago, and the server makes its runs within minutes"
        return Check("schedule", ok=True, seen=seen, fix="wait: in a few minutes slowwave doctor says when it comes")
    if not following:
        # it is how a server looks whose scheduler breaks over a library that it does not know yet
        seen = f"{nightly['name']}, {at}, but the server has made no run for it"
        fix = "read the server's log, and install what requirements.lock pins"
        return Check("schedule", ok=False, seen=seen, fix=fix)
    return Check("schedule", ok=True, seen=f"{nightly['name']}, {at}, next {following} UTC, {PASSES_OVER}")


def _deployed(nightly: Mapping[str, Any], schedules: Sequence[Mapping[str, Any]]) -> datetime:
    """Return when a deployment, or one of its schedules, was put there last; long ago where no server says when."""
    told = [nightly.get("created"), *(s.get(name) for s in schedules for name in ("created", "updated"))]
    times = [at for one in told if isinstance(one, str) and (at := parse_time(one)) is not None]
    return max(times, default=datetime.min.replace(tzinfo=UTC))


def _worker(api: str, nightly: Mapping[str, Any], auth: str, now: datetime) -> Check:
    pool = nightly["work_pool_name"]
    if not pool:
        return Check("worker", ok=True, seen="nights run in slowwave serve")
    found: dict[str, Any] | None = asked(api, f"/work_pools/{quote(pool)}", auth)
    if found and found["is_paused"]:
        return Check("worker", ok=False, seen=f"pool {pool} is paused", fix=f"prefect work-pool resume {pool}")
    workers: list[dict[str, Any]] = asked(api, f"/work_pools/{quote(pool)}/workers/filter", auth, {}) or []
    if online := sum(worker["status"] == "ONLINE" for worker in workers):
        return Check("worker", ok=True, seen=f"{online} at work for pool {pool} ({COUNTS_FOR})")
    is_new = not workers and now - _deployed(nightly, nightly["schedules"]) < _FRESH
    return _unheard(api, pool, is_new=is_new)


def _unheard(api: str, pool: str, *, is_new: bool) -> Check:
    """Say what is with a pool of which the server hears no worker: one that starts is no fault."""
    ages = workers_here(pool)
    if ages and min(ages) < HEARD_S:
        seen = f"starting: a worker of pool {pool} began here {min(ages):.0f} s ago, the server has yet to hear of it"
        return Check("worker", ok=True, seen=seen, fix="wait: slowwave doctor says in a minute whether it is at work")
    if ages:
        seen = f"a worker of pool {pool} runs here, but the server at {api} does not hear from it: no night will run"
        fix = "read what it says; PREFECT_API_URL has to be the same where it was started"
        return Check("worker", ok=False, seen=seen, fix=fix)
    if is_new:
        seen = f"pool {pool} was deployed to a moment ago, and no worker of it was heard of yet"
        return Check("worker", ok=True, seen=seen, fix=worker_command(pool))
    seen = f"no worker of pool {pool} is at work: no night will run"
    return Check("worker", ok=False, seen=seen, fix=worker_command(pool))
