"""The directions of imports: flows, then tasks, then the library; inside it formats, stores, jobs, commands.

Every import counts, also those inside functions and under ``TYPE_CHECKING``.
"""

import ast
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "lib" / "slowwave"
MOST_LINES = 1000
# How many files a package may have: new code goes into the module that has its concept. The others are not folded yet.
MOST_FILES = {
    "cli": 21,
    "compaction": 13,
    "consolidation": 25,
    "extraction": 24,
    "formats": 42,
    "jobs": 16,
    "memory": 21,
    "models": 5,
    "observability": 7,
    "reading": 3,
    "retention": 16,
    "samples": 1,
    "secrets": 9,
    "service": 6,
    "shell": 3,
    "stores": 15,
}
# and the library in all
MOST_FILES_IN_ALL = 240

# The only modules of the library that may name Prefect; each of them does so inside a function.
PREFECT_ALLOWED = {
    "service/server.py",
    "service/deployments.py",
    "cli/run.py",
    "cli/service.py",
}

_ABOVE_CORE = {
    *(
        "formats",
        "stores",
        "extraction",
        "consolidation",
        "memory",
        "compaction",
        "models",
        "retention",
        "samples",
        "observability",
        "jobs",
        "service",
        "mcp",
        "cli",
    )
}
# a folder, or a module at the top of the library, and what it must not import
FORBIDDEN = {
    "errors": _ABOVE_CORE | {"settings", "report", "files"},
    "files": _ABOVE_CORE | {"settings", "report"},
    "locks": _ABOVE_CORE | {"settings", "report"},
    "journal": _ABOVE_CORE | {"settings", "report"},
    "settings": _ABOVE_CORE | {"report"},
    "context": _ABOVE_CORE | {"report"},
    "report": _ABOVE_CORE | {"settings"},
    "formats": _ABOVE_CORE - {"formats"} | {"report"},
    "stores": {
        "retention",
        "extraction",
        "consolidation",
        "memory",
        "compaction",
        "samples",
        "observability",
        "jobs",
        "service",
        "cli",
    },
    "memory": {
        "retention",
        "extraction",
        "consolidation",
        "compaction",
        "samples",
        "observability",
        "jobs",
        "service",
        "cli",
    },
    "models": _ABOVE_CORE - {"models"} | {"report"},
    # the core: text and nothing else
    "shell": _ABOVE_CORE | {"settings", "report", "files", "context", "errors"},
    "compaction": {"retention", "consolidation", "samples", "observability", "jobs", "service", "cli"},
    "extraction": {"retention", "consolidation", "compaction", "samples", "observability", "jobs", "service", "cli"},
    "consolidation": {"retention", "samples", "observability", "jobs", "service", "cli"},
    "retention": {"consolidation", "compaction", "samples", "observability", "jobs", "service", "cli"},
    "samples": {"observability", "jobs", "service", "cli"},
    "observability": {"samples", "jobs", "service", "cli"},
    "jobs": {"service", "cli", "samples"},
    "service": {"cli", "samples"},
    "mcp": {"extraction", "compaction", "samples", "observability", "jobs", "service", "cli"},
}


def imports_of(source: str) -> Iterator[str]:
    """Yield the dotted name of everything that a module imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("importlib.import_module", "__import__"):
            yield from (a.value for a in node.args[:1] if isinstance(a, ast.Constant) and isinstance(a.value, str))


def violations(where: str, source: str) -> list[str]:
    """Return what is wrong with the imports of a module at ``where``, a path from the root of the checkout."""
    top, _, inside = where.partition("/")
    found: list[str] = []
    for name in imports_of(source):
        first, _, rest = name.partition(".")
        if not first:
            found.append(f"{where}: relative import {name}")
        elif top == "lib":
            found += _library_violations(where, inside.removeprefix("slowwave/"), first, rest)
        elif top == "tasks" and first == "flows":
            found.append(f"{where}: tasks import {name}")
        elif top == "flows" and name.startswith("slowwave.cli"):
            found.append(f"{where}: flows import {name}")
    return found


def _library_violations(where: str, inside: str, first: str, rest: str) -> list[str]:
    if first in ("flows", "tasks"):
        return [f"{where}: the library imports {first}"]
    if first == "prefect":
        return [] if inside in PREFECT_ALLOWED else [f"{where}: imports prefect"]
    part = inside.partition("/")[0].removesuffix(".py")
    target = rest.partition(".")[0]
    if first == "slowwave" and target != part and target in FORBIDDEN.get(part, set()):
        return [f"{where}: {part} imports slowwave.{rest}"]
    return []


def modules(*tops: str) -> list[Path]:
    """Return the Python files under some folders of the checkout."""
    return sorted(path for top in tops for path in (ROOT / top).rglob("*.py"))


def test_every_import_points_down() -> None:
    files = modules("lib", "tasks", "flows")
    assert len(files) > 30
    found = [v for f in files for v in violations(f.relative_to(ROOT).as_posix(), f.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    ("where", "source"),
    [
        ("lib/slowwave/report.py", "def f():\n    import tasks.stages"),
        ("lib/slowwave/report.py", "def f():\n    from prefect import flow"),
        ("lib/slowwave/formats/sessions.py", "from prefect.client import x"),
        ("lib/slowwave/formats/lines.py", "from slowwave import stores"),
        ("lib/slowwave/formats/claude/dialect.py", "import slowwave.stores.projects"),
        ("lib/slowwave/formats/sessions.py", "import importlib\nimportlib.import_module('slowwave.extraction.job')"),
        ("lib/slowwave/jobs/story.py", "if TYPE_CHECKING:\n    from slowwave.cli import main"),
        ("lib/slowwave/jobs/story.py", "from .cli import main"),
        ("lib/slowwave/observability/night.py", "from slowwave.jobs.story import Run"),
        ("lib/slowwave/consolidation/job.py", "from slowwave.observability.night import Night"),
        ("tasks/stages.py", "from flows.nightly import nightly"),
    ],
)
def test_a_planted_import_is_found(where: str, source: str) -> None:
    assert len(violations(where, source)) == 1


def test_only_functions_of_the_library_import_prefect() -> None:
    at_import = [
        path.relative_to(LIBRARY).as_posix()
        for path in modules("lib")
        for node in _run_at_import(ast.parse(path.read_text(encoding="utf-8")).body)
        if any(name.partition(".")[0] == "prefect" for name in imports_of(ast.unparse(node)))
    ]
    assert at_import == []


def _run_at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


@pytest.mark.parametrize("path", modules("flows", "tasks"), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_no_flow_or_task_is_named_like_another_module(path: Path) -> None:
    # Prefect puts flows/ first on the module path and leaves it there: flows/statistics.py would be `statistics`
    if path.stem != "__init__":
        assert path.stem not in sys.stdlib_module_names
        found = importlib.util.find_spec(path.stem) if path.stem not in sys.modules else sys.modules[path.stem].__spec__
        assert found is None or found.origin == str(path)


@pytest.mark.parametrize("path", modules("flows", "tasks", "lib"), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_file_is_longer_than_a_person_reads(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize(("package", "most"), MOST_FILES.items())
def test_a_package_has_no_more_rooms_than_it_needs(package: str, most: int) -> None:
    assert len(list((LIBRARY / package).rglob("*.py"))) <= most


def test_the_library_has_no_more_rooms_than_it_had() -> None:
    assert len(modules("lib")) <= MOST_FILES_IN_ALL


def test_a_client_is_named_in_its_own_files_alone() -> None:
    # as a model that answers, as an author of commits, in the name of a vocabulary
    others = {"models/command.py", "memory/authors.py", "compaction/tokens.py"}
    own = {path for path in modules("lib") if path.parent.name == "codex" or path.stem == "codex"}
    named = {path for path in modules("lib") if '"codex"' in path.read_text(encoding="utf-8")} - own
    assert {path.relative_to(LIBRARY).as_posix() for path in named} <= others


def test_no_folder_is_deeper_than_a_second_level() -> None:
    assert {path for path in modules("lib") if len(path.relative_to(LIBRARY).parts) > 3} == set()


def edges_of(where: str, source: str, known: set[str]) -> Iterator[str]:
    """Yield the modules among ``known`` that a module of the library imports."""
    for name in imports_of(source):
        yield from {m for m in (name, name.rpartition(".")[0]) if m in known} - {where}


def circles(edges: dict[str, set[str]]) -> list[set[str]]:
    """Return the groups of modules that import each other, lazily or not."""
    reach = {name: set(below) for name, below in edges.items()}
    for below in reach.values():
        todo = list(below)
        while todo:
            new = edges.get(todo.pop(), set()) - below
            below.update(new)
            todo += new
    return [
        {other for other in below if name in reach.get(other, ())} for name, below in reach.items() if name in below
    ]


def test_no_module_imports_itself_by_way_of_others() -> None:
    files = {path: ".".join(path.relative_to(LIBRARY.parent).with_suffix("").parts) for path in modules("lib")}
    names = {path: name.removesuffix(".__init__") for path, name in files.items()}
    known = set(names.values())
    edges = {name: set(edges_of(name, path.read_text(encoding="utf-8"), known)) for path, name in names.items()}
    assert circles(edges) == []


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [{"b", "c"}, {"b", "c"}]


def test_an_adapter_has_fifteen_lines_at_most() -> None:
    functions = [
        (path.name, node)
        for path in modules("tasks")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]
    long = [f"{name}:{node.name}" for name, node in functions if (node.end_lineno or 0) - node.lineno + 1 > 15]
    assert functions
    assert long == []
