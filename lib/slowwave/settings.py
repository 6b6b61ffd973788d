"""Settings: what can be set, and how TOML file, ``SLOWWAVE_*`` environment and ``--set`` set it; retention's rules too.

Types, defaults, limits and what each is for stand section by section. All are checked at once, never half applied: an
unknown key or a malformed value is an error that names key, value and remedy; it never turns into a default.
"""

import re
import shlex
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from slowwave.errors import SettingsError, meant, one_of
from slowwave.files import config_folder
from slowwave.quantities import ByteCount, Count, Period, PeriodOrOff, parse_duration

# What a session is: a person's own, begun by a clock or a program, by another session, or put aside by its client.
Source = Literal["interactive", "cron", "subagent", "reset", "deleted", "archived", "empty"]


class Subject(msgspec.Struct, frozen=True, gc=False):
    """A session as retention sees it."""

    id: str  # names it; unique among the subjects of one decision
    dialect: str  # of its files
    project: str  # key of the project that it worked in
    source: Source  # what kind of session it is
    at: float  # its last activity, in seconds since 1970
    size: int  # bytes of its transcripts and those of its sub-agents; what lies beside them is not looked at


class Rules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds for one class of sessions.

    ``max_*`` say what goes. ``keep_*`` say what stays although it would go; without any ``max_*`` all that they do not
    keep goes (borg, restic). Sessions are counted per dialect, project and source, a quota over the whole class.
    """

    max_age: Annotated[Period | None, Meta(description="Sessions without activity for longer than this go")] = None
    max_count: Annotated[Count | None, Meta(description="This many stay, the oldest go first")] = None
    max_bytes: Annotated[
        ByteCount | None, Meta(description="Above this the least missed and oldest go until low_water is reached")
    ] = None
    low_water: Annotated[float, Meta(gt=0, le=1, description="Share of max_bytes at which removal ends")] = 0.8
    keep_last: Annotated[Count | None, Meta(description="This many of the newest stay")] = None
    keep_hourly: Annotated[Count | None, Meta(description="The newest of each of this many last hours stays")] = None
    keep_daily: Annotated[Count | None, Meta(description="The newest of each of this many last days stays")] = None
    keep_weekly: Annotated[Count | None, Meta(description="The same for weeks, which begin on Monday")] = None
    keep_monthly: Annotated[Count | None, Meta(description="The same for months")] = None
    keep_yearly: Annotated[Count | None, Meta(description="The same for years")] = None
    keep_within: Annotated[
        Period | None, Meta(description="All that are at most this much older than the newest one stay")
    ] = None

    @property
    def keeps(self) -> bool:
        """Whether any rule keeps something."""
        return any(getattr(self, name) is not None for name in KEEPS)

    @property
    def limits(self) -> bool:
        """Whether any rule says what goes."""
        return any(getattr(self, name) is not None for name in LIMITS)


LIMITS = ("max_age", "max_count", "max_bytes")
KEEPS = tuple(name for name in Rules.__struct_fields__ if name.startswith("keep_"))


class ClassRules(Rules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which sessions a class holds, and all that holds for them; "" stands for every dialect, project or source."""

    dialect: Annotated[str, Meta(description="Name of a dialect")] = ""
    project: Annotated[str, Meta(description="Pattern of project keys, with * and ?")] = ""
    source: Annotated[Source | Literal[""], Meta(description="Kind of session")] = ""

    def holds(self, subject: Subject) -> bool:
        """Say whether a session belongs to this class."""
        return (
            self.dialect in ("", subject.dialect)
            and self.source in ("", subject.source)
            and (not self.project or fnmatchcase(subject.project, self.project))
        )


class Policy(Rules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Classes in order, of which the first that fits holds alone, and the rules for all other sessions."""

    classes: Annotated[tuple[ClassRules, ...], Meta(description="Rules for some sessions, the first that fits")] = ()

    def rules_of(self, subject: Subject) -> tuple[str, Rules]:
        """Return the rules that hold for a session, and how the names of their settings begin."""
        for number, one in enumerate(self.classes):
            if one.holds(subject):
                return f"retention.classes[{number}].", one
        return "retention.", self


class AlarmSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a run that ended well is an alarm all the same, and who is told."""

    silent_nights: Annotated[
        int, Meta(ge=0, description="Nights in a row with new sessions and without a dream; 0 never alarms")
    ] = 7
    backlog: Annotated[
        timedelta, Meta(description="A fact that no dream has looked at for this long; 0s never alarms")
    ] = timedelta(days=14)
    webhook: Annotated[
        str, Meta(description="Address that gets alarms as one JSON object by POST; empty tells nobody")
    ] = ""
    timeout: Annotated[timedelta, Meta(description="Longest wait for the webhook")] = timedelta(seconds=10)


class TelemetrySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Logs and telemetry for machines; both off by default."""

    log_file: Annotated[str, Meta(description="File that gets a JSON object a line of log; - is standard error")] = ""
    otlp: Annotated[
        str,
        Meta(
            description="OpenTelemetry collector (OTLP over HTTP) such as http://127.0.0.1:4318; needs slowwave[otel]"
        ),
    ] = ""
    timeout: Annotated[timedelta, Meta(description="Longest wait for the collector")] = timedelta(seconds=10)


# msgspec, not pydantic: it checks as strictly and costs `slowwave status` 0.2 s less at import.
class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class StoreSettings(_Section, frozen=True):
    """Where transcripts are and how part files are written."""

    roots: Annotated[
        tuple[Path, ...],
        Meta(
            description="Folders as `--store` names them, for example ~/.claude; empty means the homes of all clients"
        ),
    ] = ()
    part_bytes: Annotated[int, Meta(gt=0, description="Cersei: a part file never grows past this")] = 50_000_000
    warn_bytes: Annotated[int, Meta(gt=0, description="Cersei: warn when all parts exceed this")] = 200_000_000
    write_spelling: Annotated[
        Literal["claude", "cersei", "cersei-cli"], Meta(description="Spelling of a new project folder's name")
    ] = "claude"
    fsync: Annotated[bool, Meta(description="fsync after every appended record")] = False
    follow_links: Annotated[
        bool,
        Meta(description="Read transcripts that are links out of their store; otherwise each is refused and named"),
    ] = False
    moved: Annotated[
        dict[str, str], Meta(description="Folders that were moved: old path = new path; one project before and after")
    ] = {}


class ExtractionSettings(_Section, frozen=True):
    """Gates and batches of extraction (gates after seed 000)."""

    min_messages: Annotated[int, Meta(ge=0, description="Messages a session needs before it is extracted")] = 20
    min_tool_calls: Annotated[
        int, Meta(ge=0, description="Tool calls needed since the last extraction; waived for the first")
    ] = 3
    idle: Annotated[timedelta, Meta(description="A session must have been idle this long")] = timedelta(minutes=30)
    open_call_rest: Annotated[
        timedelta, Meta(description="After this long a tool call without a result no longer holds a session back")
    ] = timedelta(hours=24)
    ended_after: Annotated[
        timedelta, Meta(description="After this long a session counts as ended: all of it is read, however short it is")
    ] = timedelta(hours=24)
    batch_sessions: Annotated[int, Meta(ge=1, le=5000, description="Sessions in one task run")] = 500
    min_confidence: Annotated[float, Meta(ge=0, le=1, description="Facts below this are dropped and counted")] = 0.1


class ConsolidationSettings(_Section, frozen=True):
    """Gates and limits of a dream (gates after seed 000)."""

    min_hours: Annotated[
        float, Meta(ge=0, description="Hours since the last dream; five sixths are enough, for nights that come sooner")
    ] = 24.0
    min_sessions: Annotated[int, Meta(ge=0, description="Sessions changed since the last dream")] = 5
    max_wait: Annotated[
        timedelta, Meta(description="A fact that no dream has looked at for this long needs no further sessions")
    ] = timedelta(days=7)
    lock_stale: Annotated[timedelta, Meta(description="A lock this old may be taken over")] = timedelta(hours=1)
    mode: Annotated[Literal["auto", "review"], Meta(description="review parks every dream for a person")] = "auto"
    max_loss: Annotated[
        float, Meta(ge=0, le=1, description="Share of prior memories a dream may drop before it is parked")
    ] = 0.25
    index_lines: Annotated[int, Meta(ge=10, description="Most lines of MEMORY.md")] = 200
    index_bytes: Annotated[int, Meta(ge=1000, description="Most bytes of MEMORY.md")] = 25_000
    accept_confidence: Annotated[float, Meta(ge=0, le=1, description="Facts below this wait for more evidence")] = 0.55
    review_confidence: Annotated[
        float, Meta(ge=0, le=1, description="Waiting facts from here on are shown to a person (slowwave review)")
    ] = 0.2
    global_projects: Annotated[
        int, Meta(ge=0, description="A preference found in this many projects is proposed for all; 0 never proposes")
    ] = 3
    model: Annotated[
        Literal["off", "on"], Meta(description="on lets the model, where one is set, propose merges and successions")
    ] = "on"
    half_life_preference: Annotated[timedelta, Meta(description="An unseen preference loses half its weight")] = (
        timedelta(days=730)
    )
    half_life_constraint: Annotated[timedelta, Meta(description="The same for a constraint")] = timedelta(days=730)
    half_life_decision: Annotated[timedelta, Meta(description="The same for a decision")] = timedelta(days=365)
    half_life_project: Annotated[timedelta, Meta(description="The same for a fact about the project")] = timedelta(
        days=270
    )
    half_life_pattern: Annotated[timedelta, Meta(description="The same for a way of working")] = timedelta(days=180)

    @property
    def half_lives(self) -> dict[Any, timedelta]:
        """The half-lives by category of memory."""
        kinds = ("preference", "constraint", "decision", "project", "pattern")
        return {kind: getattr(self, f"half_life_{kind}") for kind in kinds}


class CompactionSettings(_Section, frozen=True):
    """When a session is compacted, and how much of it stays (numbers of pi and OpenClaw)."""

    reserve_tokens: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(
            description="Compact when less than this is left of the window (OpenClaw: at least 20,000); unset: as"
            " the client's own settings say, else 16,384"
        ),
    ] = None
    keep_recent_tokens: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(
            description="About this many of the newest tokens stay as they are; unset: as the client's own settings"
            " say, else 20,000 (Cersei: its 10 newest messages)"
        ),
    ] = None
    threshold: Annotated[
        float,
        Meta(gt=0, le=1, description="Cersei: compact once this share of the window is used (its compact_threshold)"),
    ] = 0.9
    context_window: Annotated[
        int, Meta(ge=0, description="Tokens that every model sees; 0 asks the transcript, then a table")
    ] = 0
    windows: Annotated[
        dict[str, int], Meta(description="Tokens that particular models see: beginning of the name = tokens")
    ] = {}
    trigger_bytes: Annotated[
        int,
        Meta(ge=0, description="Also compact when the records of a context have more bytes than this; 0 never does"),
    ] = 0
    max_sessions: Annotated[int, Meta(ge=1, description="Most sessions that one run compacts in a project")] = 50
    model: Annotated[
        Literal["off", "on"], Meta(description="on lets the model, where one is set, write a narrative in summaries")
    ] = "on"
    min_score: Annotated[
        float, Meta(ge=0, le=1, description="Share of its probes that a model's summary must answer; 0 asks nothing")
    ] = 0.6
    focus: Annotated[str, Meta(description="What a model's summaries pay most attention to, in a person's words")] = ""
    prune: Annotated[
        Literal["first", "only", "off"],
        Meta(
            description="first clears old outputs of tools and summarises only where that is not enough; only never"
            " summarises; off never clears (Codex; other clients have no record for it)"
        ),
    ] = "first"
    nightly: Annotated[bool, Meta(description="Let nightly compact as well; slowwave run compact always does")] = False


class BackfillSettings(_Section, frozen=True):
    """How past ranges are read."""

    task_runner: Annotated[
        Literal["threads", "dask", "ray"],
        Meta(
            description="Who reads: threads, the processors of this machine; or the workers of Dask or of Ray,"
            " which must see the transcripts and the state folder"
        ),
    ] = "threads"


class MemorySettings(_Section, frozen=True):
    """Where memory folders are."""

    folder: Annotated[str, Meta(description="Template; {project} is the project's folder in its store")] = (
        "{project}/memory"
    )
    elsewhere: Annotated[
        str, Meta(description="Template for projects without such a folder; {data} is slowwave's own, {key} the name")
    ] = "{data}/memory/{key}"
    global_folder: Annotated[str, Meta(description="Template of the folder for what holds in every project")] = (
        "{data}/memory/global"
    )
    global_import: Annotated[
        tuple[Path, ...],
        Meta(
            description="Files (CLAUDE.md, AGENTS.md) that get a line which imports the global memory; none by default"
        ),
    ] = ()
    shared: Annotated[
        str,
        Meta(
            description="Folder of a repository, where it is there, for memories that a person accepted;"
            " none by default"
        ),
    ] = ""
    deliver_bytes: Annotated[
        int, Meta(ge=600, description="Most bytes of a section that slowwave install puts into AGENTS.md and the like")
    ] = 8_000


class ModelSettings(_Section, frozen=True):
    """The language model, if any: a server (``base_url`` and ``name``) or a ``command``; without them none is asked."""

    base_url: Annotated[
        str, Meta(description="Address of an OpenAI-compatible server, for example http://127.0.0.1:8080/v1")
    ] = ""
    command: Annotated[
        tuple[str, ...],
        Meta(
            description="A program that reads a question on its standard input and prints the answer, for example"
            ' ["claude", "-p"]; no key is needed'
        ),
    ] = ()
    name: Annotated[str, Meta(description="Name of the model there; with a command it may be left out")] = ""
    api_key_env: Annotated[
        str, Meta(description="Environment variable that holds the key; the key itself is never stored")
    ] = "OPENAI_API_KEY"
    timeout: Annotated[timedelta, Meta(description="Longest wait for one answer")] = timedelta(minutes=2)
    retries: Annotated[int, Meta(ge=0, le=20, description="Further attempts after a failed one")] = 4
    concurrency: Annotated[int, Meta(ge=1, le=64, description="Questions asked at the same time")] = 4
    window_tokens: Annotated[int, Meta(ge=500, description="Estimated tokens of transcript in one question")] = 60_000
    overlap_tokens: Annotated[
        int, Meta(ge=0, description="Estimated tokens of what was said before, shown for context only")
    ] = 600
    max_output_tokens: Annotated[int, Meta(ge=64, description="Longest answer")] = 4_000
    budget_tokens: Annotated[int, Meta(ge=0, description="Most tokens of one run, both ways; 0 sets no limit")] = 0
    budget_usd: Annotated[
        float, Meta(ge=0, description="Most money of one run; 0 sets no limit; without prices high ones are assumed")
    ] = 0.0
    price_input: Annotated[float, Meta(ge=0, description="USD for a million tokens of questions")] = 0.0
    price_output: Annotated[float, Meta(ge=0, description="USD for a million tokens of answers")] = 0.0
    batch: Annotated[
        bool, Meta(description="Extract at the Batch API's half price: asked one night, read by the next")
    ] = False

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        if self.command and self.base_url:
            raise ValueError("set model.command or model.base_url, not both")
        if self.command and self.batch:
            raise ValueError("a command has no batch price: set model.batch = false")

    @property
    def is_set(self) -> bool:
        """Whether there is a model to ask."""
        return bool(self.command or (self.base_url and self.name))

    @property
    def label(self) -> str:
        """What the model is called in reports and books; "" without one."""
        if not self.is_set:
            return ""
        return self.name or Path(self.command[0]).name


class SecretsSettings(_Section, frozen=True):
    """How secrets are marked."""

    key_file: Annotated[
        str, Meta(description="File with the key of the marks; made beside the settings file when it is first needed")
    ] = ""


class RetentionSettings(Policy, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may be changed or removed of transcripts, after which rules, and what must be safe before."""

    enforce: Annotated[
        bool, Meta(description="Without it erase and retain only show what they would do, unless --apply is given")
    ] = False
    require_extracted: Annotated[bool, Meta(description="Sessions that were not extracted yet stay")] = True
    require_archive: Annotated[bool, Meta(description="A verified copy is kept of whatever goes")] = True
    grace: Annotated[Period, Meta(description="How long what went stays in the trash before it is freed")] = Period(
        "7d"
    )
    per_run: Annotated[
        Count, Meta(description="At most this many sessions go in one run, the oldest first; the others wait")
    ] = Count("unlimited")
    confirm: Annotated[
        Count | None,
        Meta(description="This many may go at once although they are more than half of all sessions, or max_age is 0d"),
    ] = None
    pause: Annotated[timedelta, Meta(description="Pause between two removals, so that others get at the disk")] = (
        timedelta(0)
    )
    rescue: Annotated[
        PeriodOrOff,
        Meta(description="What Claude Code or OpenClaw would delete within this time is archived first; or off"),
    ] = PeriodOrOff("8d")
    rescue_max_bytes: Annotated[
        ByteCount,
        Meta(description="The packs of all that was rescued take no more than this; beyond it the night fails"),
    ] = ByteCount("5 GB")
    openclaw: Annotated[
        Literal["client", "own"],
        Meta(description="Who carries out OpenClaw's session.maintenance: the client, or retain (own)"),
    ] = "client"
    purge: Annotated[bool, Meta(description="Take records that are hidden for good out of their files")] = False


class Settings(_Section, frozen=True):
    """All settings of slowwave."""

    store: StoreSettings = StoreSettings()
    extraction: ExtractionSettings = ExtractionSettings()
    consolidation: ConsolidationSettings = ConsolidationSettings()
    compaction: CompactionSettings = CompactionSettings()
    backfill: BackfillSettings = BackfillSettings()
    memory: MemorySettings = MemorySettings()
    model: ModelSettings = ModelSettings()
    secrets: SecretsSettings = SecretsSettings()
    retention: RetentionSettings = RetentionSettings()
    alarms: AlarmSettings = AlarmSettings()
    telemetry: TelemetrySettings = TelemetrySettings()

    def with_roots(self, roots: Sequence[Path]) -> "Settings":
        """Return the same settings over other store roots."""
        store = msgspec.structs.replace(self.store, roots=tuple(path.expanduser().absolute() for path in roots))
        return msgspec.structs.replace(self, store=store)


ENV_PREFIX = "SLOWWAVE_"
# Form of the settings file, which may say `version = 1`; a key that changes its meaning makes a new one.
VERSION = 1
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
SECTIONS = tuple(section.name for section in msgspec.structs.fields(Settings))
_TABLE = re.compile(r"\s*(\[?)\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"\s*([\w\s.\"'-]+?)\s*=")
_KINDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text in quotation marks",
    tuple: 'a list, for example ["one", "two"]',
    dict: 'a table, for example { "one" = "another" }',
}
# how the names of settings end that are numbers of something
_UNITS_OF_NUMBERS = {
    **{name: name for name in ("hours", "messages", "calls", "sessions", "lines", "bytes", "tokens", "nights")},
    "projects": "projects",
    "usd": "US dollars",
}
# Variables of the same prefix that are not settings.
_NOT_SETTINGS = {"SLOWWAVE_CONFIG"}


def load_settings(
    environ: Mapping[str, str], *, config: Path | None = None, overrides: Sequence[str] = (), cwd: Path | None = None
) -> Settings:
    """Return the settings that hold for a run.

    Args:
        environ: the process environment; ``SLOWWAVE_SECTION__KEY`` sets ``section.key``.
        config: the TOML file; without it ``$SLOWWAVE_CONFIG``, ``./slowwave.toml`` and
            ``$XDG_CONFIG_HOME/slowwave/config.toml`` are tried in this order.
        overrides: ``section.key=value`` items of ``--set``.
        cwd: the folder that ``./slowwave.toml`` is looked for in; the current one by default.

    Raises SettingsError: a file is missing or not TOML, a key is unknown, or a value is malformed.
    """
    source = _find_config(environ, config, cwd or Path.cwd())
    tree, lines = _read_toml(source) if source else ({}, {})
    origin = {place: f"{source}, line {line}" for place, line in lines.items()}
    for name, text in sorted(environ.items()):
        if name.startswith(ENV_PREFIX) and name not in _NOT_SETTINGS:
            key = name[len(ENV_PREFIX) :].lower().replace("__", ".")
            origin[key] = f"environment variable {name}"
            _put(tree, key, text, origin[key])
    for item in overrides:
        key, eq, text = item.partition("=")
        if not eq:
            raise SettingsError(item, "", "write --set section.key=value", "--set")
        _put(tree, key.strip(), text.strip(), "--set")
        origin[key.strip()] = "--set"
    return _checked(tree, origin)


def _find_config(environ: Mapping[str, str], config: Path | None, cwd: Path) -> Path | None:
    named = config or (Path(environ["SLOWWAVE_CONFIG"]) if environ.get("SLOWWAVE_CONFIG") else None)
    if named is not None:
        return named
    usual = (cwd / "slowwave.toml", config_folder(environ) / "config.toml")
    return next((p for p in usual if p.is_file()), None)


def _read_toml(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """Return what a file sets, and on which of its lines each table and key stands."""
    try:
        text = path.read_text(encoding="utf-8")
        tree = tomllib.loads(text)
    except OSError as error:
        raise SettingsError("--config", str(path), f"cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError("--config", str(path), f"is not TOML: {error}") from error
    version = tree.pop("version", VERSION)
    if type(version) is not int or not 1 <= version <= VERSION:
        remedy = f"this slowwave knows form {VERSION} of settings; update slowwave, or see what changed in CHANGELOG.md"
        raise SettingsError("version", version, remedy, str(path))
    return tree, _lines(text)


def _lines(text: str) -> dict[str, int]:
    """Return the number of the line of each table and key of a file that is TOML: ``retention.classes[1].max_age``."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if match := _TABLE.match(line):
            table = _bare(match[2])
            if match[1]:
                table += f"[{sum(place.startswith(f'{table}[') and place.endswith(']') for place in found)}]"
            found.setdefault(table, number)
        elif match := _KEY.match(line):
            found.setdefault(f"{table}.{_bare(match[1])}".lstrip("."), number)
    return found


def _bare(key: str) -> str:
    return re.sub(r"""[\s"']""", "", key)


def _source_of(place: str, origin: Mapping[str, str]) -> str:
    """Return where something is set, else where what it is a part of is set, "" for what is set in several places."""
    while place:
        if place in origin:
            return origin[place]
        place = re.sub(r"(^|\.)[^.\[]+$|\[[^]]*\]$", "", place)
    return ""


def _put(tree: dict[str, Any], key: str, text: str, source: str) -> None:
    section, _, leaf = key.partition(".")
    if key not in _fields():
        raise SettingsError(key, text, _unknown(key), source)
    at = tree.setdefault(section, {})
    if not isinstance(at, dict):
        raise SettingsError(section, at, "is a section, not a value", source)
    cast("dict[str, Any]", at)[leaf] = _of_text(key, text)


def _of_text(key: str, text: str) -> object:
    """Return what stands in one line for a value that has several: ``/a:/b``, or ``/old=/new:/older=/newer``.

    A command stands as in a shell, ``claude -p``, or as the list that it is in a file.
    """
    if key == "model.command":
        return _words(text)
    if key not in ("store.roots", "store.moved", "memory.global_import"):
        return text
    items = [item for item in text.split(":") if item]
    return items if key != "store.moved" else {old: new for old, _, new in (item.partition("=") for item in items)}


def _words(text: str) -> object:
    """Return the words of a command; what cannot be split is left for the check that follows."""
    try:
        return tomllib.loads(f"words = {text}")["words"] if text.lstrip().startswith("[") else shlex.split(text)
    except ValueError:
        return text


def _checked(tree: Mapping[str, Any], origin: Mapping[str, str]) -> Settings:
    try:
        return msgspec.convert(_with_durations(tree, origin), Settings, strict=False, dec_hook=_decode_hook)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        place = place.strip(".`")
        unknown = re.search(r"unknown field `([^`]*)`", message)
        if unknown:
            place = f"{place}.{unknown[1]}".strip(".")
            message = _unknown(place)
        elif message.startswith(("Expected", "Invalid")):
            message = f"write {_asked_for(place)}"
        value = _value_at(tree, place) if "." in place else None  # a section
        raise SettingsError(place.removesuffix("[...]"), value, message, _source_of(place, origin)) from error


def _unknown(place: str) -> str:
    """Say that nothing can be set at a place, and what is meant, or else what can be."""
    within, _, leaf = re.sub(r"\[[^]]*\]", "", place).rpartition(".")
    if within == "retention.classes":
        known = [field.name for field in msgspec.structs.fields(ClassRules)]
        return "there is no such setting" + (meant(leaf, known) or f"; write {one_of(known)}")
    if not within and leaf in SECTIONS:
        return f"is a section; write for example {next(key for key in _fields() if key.startswith(f'{leaf}.'))}"
    of_section = {key.rpartition(".")[2]: key for key in _fields() if key.startswith(f"{within}.")}
    if of_section:
        near, there = meant(leaf, of_section, f"{within}."), f"; {within} has {', '.join(of_section.values())}"
    else:
        same = [key for key in _fields() if key.endswith(f".{leaf}")]
        near = f"; did you mean {one_of(same)}?" if same else meant(place, (*_fields(), *SECTIONS))
        there = f"; there are sections {', '.join(SECTIONS)}"
    return "there is no such setting" + (near or there)


def _asked_for(place: str) -> str:
    """Return in a person's words what has to stand at a place: "a number of hours, 0 or more, for example 24"."""
    kind, metas, default = _form(re.sub(r"\[[^]]*\]", "", place))
    if place.endswith("]") and get_args(kind):  # one of a list, or a value of a table
        kind = get_args(kind)[-1 if get_origin(kind) is dict else 0]
    if get_origin(kind) is Literal:
        return one_of([choice or '""' for choice in get_args(kind)])
    limits = {name: getattr(meta, name) for meta in metas for name in ("ge", "gt", "le")}
    limits = {name: value for name, value in limits.items() if value is not None}
    words = _KINDS.get(get_origin(kind) or kind, "another value")
    unit = place.rpartition(".")[2].rpartition("_")[2]
    if kind in (int, float):
        words += f" of {_UNITS_OF_NUMBERS[unit]}" if unit in _UNITS_OF_NUMBERS else ""
    if limits.get("le") is not None:
        words += f" from {limits['ge']}" if "ge" in limits else f" above {limits['gt']} and up"
        words += f" to {limits['le']}"
    elif limits:
        words += f", {limits['ge']} or more" if "ge" in limits else f" above {limits['gt']}"
    example = default_text(default) if kind in (int, float, str) else ""
    return words + (f", for example {example.removesuffix('.0')}" if example.strip("0.") else "")


def _form(key: str) -> tuple[Any, list[msgspec.Meta], object]:
    """Return type, limits and default of a setting; of a section its own type."""
    section, _, leaf = key.partition(".")
    kind = next((field.type for field in msgspec.structs.fields(Settings) if field.name == section), Settings)
    if leaf.startswith("classes."):
        kind, leaf = ClassRules, leaf.removeprefix("classes.")
    if leaf not in (names := {field.name: field.default for field in msgspec.structs.fields(kind)}):
        return kind, [], None
    metas: list[msgspec.Meta] = []
    kind = get_type_hints(kind, include_extras=True)[leaf]
    while get_args(kind) and get_origin(kind) in (Annotated, UnionType, Union):
        metas += getattr(kind, "__metadata__", ())
        kind = get_args(kind)[0]
    return kind, metas, names[leaf]


def _with_durations(tree: Mapping[str, Any], origin: Mapping[str, str]) -> dict[str, Any]:
    """Return the tree with every duration parsed; whatever has another form is left for the check that follows."""
    done: dict[str, Any] = dict(tree)
    for key, kind in _fields().items():
        section, _, leaf = key.partition(".")
        values = done.get(section)
        if kind is not timedelta or not isinstance(values, Mapping) or leaf not in values:
            continue
        value = cast("Mapping[str, Any]", values)[leaf]
        try:
            done[section] = {**cast("Mapping[str, Any]", values), leaf: parse_duration(value)}
        except ValueError as error:
            raise SettingsError(key, value, str(error), _source_of(key, origin)) from error
    return done


def _decode_hook(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str):
        return Path(value).expanduser()
    if issubclass(kind, (Period, Count)):
        return kind(value)
    raise msgspec.ValidationError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")


def _value_at(tree: Mapping[str, Any], place: str) -> object:
    """Return what stands at a place such as ``retention.classes[1].max_age``."""
    value: Any = tree
    for step in re.findall(r"[^.\[\]]+", place):
        if isinstance(value, Mapping):
            value = cast("Mapping[str, Any]", value).get(step, "")
        elif isinstance(value, list) and step.isdecimal():
            value = cast("list[Any]", value)[int(step)]
        else:
            return ""
    return value


def _fields() -> dict[str, object]:
    """Return the type of every setting by its key."""
    found: dict[str, object] = {}
    for section in msgspec.structs.fields(Settings):
        for leaf in msgspec.structs.fields(cast("type[msgspec.Struct]", section.type)):
            kind = getattr(leaf.type, "__origin__", leaf.type) if hasattr(leaf.type, "__metadata__") else leaf.type
            found[f"{section.name}.{leaf.name}"] = kind
    return found


def described(section: str) -> Iterator[tuple[str, str, str]]:
    """Yield key, default and meaning of every setting of a section, each in words."""
    kind = next(field.type for field in msgspec.structs.fields(Settings) if field.name == section)
    hints = get_type_hints(kind, include_extras=True)
    for field in msgspec.structs.fields(cast("type[msgspec.Struct]", kind)):
        metas = getattr(hints[field.name], "__metadata__", ())
        meaning = next((one.description for one in metas if isinstance(one, msgspec.Meta) and one.description), "")
        yield f"{section}.{field.name}", default_text(field.default), meaning


def default_text(value: object) -> str:
    """Return a default as a person writes it, "" for none."""
    if value is None or value is msgspec.NODEFAULT or value in ("", (), {}):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, timedelta):
        seconds = int(value.total_seconds())
        size, unit = next(one for one in _UNITS if seconds % one[0] == 0)
        return f"{seconds // size}{unit}"
    return "unlimited" if isinstance(value, int) and value == sys.maxsize else str(value)


__all__ = [
    "ENV_PREFIX",
    "SECTIONS",
    "CompactionSettings",
    "ConsolidationSettings",
    "ExtractionSettings",
    "MemorySettings",
    "ModelSettings",
    "RetentionSettings",
    "SecretsSettings",
    "Settings",
    "StoreSettings",
    "default_text",
    "described",
    "load_settings",
]
