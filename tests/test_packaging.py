"""The wheel holds every file, and its command works in a clean environment, from a folder full of hostile names."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import orjson
import pytest

from slowwave import commit_of
from slowwave.samples import build

ROOT = Path(__file__).parents[1]
HOSTILE = "raise SystemExit('a module of the current folder was imported')\n"

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


def run(command: list[str | Path], cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and show what it said when it failed."""
    env = {**os.environ, **environ}
    done = subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done


def sources() -> set[str]:
    """Return the files of the checkout that must be in the wheel, by their names there."""
    places = {"lib/slowwave": "slowwave", "flows": "slowwave/_project/flows", "tasks": "slowwave/_project/tasks"}
    found = {"slowwave/_project/prefect.yaml", *(["slowwave/COMMIT"] if commit_of(ROOT) else [])}
    for place, name in places.items():
        files = [p for p in (ROOT / place).rglob("*") if p.is_file() and p.suffix != ".pyc"]
        found |= {f"{name}/{p.relative_to(ROOT / place).as_posix()}" for p in files}
    return found


def wheel_of(project: Path, folder: Path) -> Path:
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], project)
    (wheel,) = folder.glob("*.whl")
    return wheel


def content(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.test"]
    run(["git", "-C", folder, *who, *words], folder)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel_of(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel where the checkout cannot be seen; the dependencies are borrowed from this environment."""
    env = tmp_path_factory.mktemp("clean") / "env"
    run([sys.executable, "-m", "venv", "--without-pip", env], env.parent)
    python = env / "bin" / "python"
    run(
        [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", wheel], env.parent
    )
    (site,) = env.glob("lib/python*/site-packages")
    # a path in a .pth file is added without its own .pth files: the editable install stays out
    (site / "borrowed.pth").write_text(sysconfig.get_paths()["purelib"], encoding="utf-8")
    return env / "bin" / "slowwave"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Make a folder whose modules end every process that imports them."""
    for name in ("tasks.py", "flows.py", "prefect.yaml", "lib/__init__.py", "flows/__init__.py", "flows/nightly.py"):
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HOSTILE, encoding="utf-8")
    return tmp_path / "work"


def borrowed_wheels(folder: Path) -> None:
    """Write an empty wheel of each package that slowwave requires, in the version of this environment."""
    folder.mkdir()
    for requirement in metadata.requires("slowwave") or ():
        if "extra ==" in requirement:
            continue
        name = re.split(r"[^\w-]", requirement)[0].replace("-", "_")
        stem = f"{name}-{metadata.version(name)}"
        files = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {metadata.version(name)}\n",
            "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            "RECORD": "",
        }
        if name == "prefect":
            files["entry_points.txt"] = "[console_scripts]\nprefect = prefect.cli:app\n"
        with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as packed:
            for file, text in files.items():
                packed.writestr(f"{stem}.dist-info/{file}", text)


def test_the_line_for_uv_installs_slowwave_with_prefect_beside_it(wheel: Path, tmp_path: Path) -> None:
    (line,) = re.findall(r"^(uv tool install .*?)  +#", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    program, *words = shlex.split(line)
    borrowed_wheels(tmp_path / "wheels")
    command = [Path(sys.executable).with_name(program), *(str(wheel) if word == "." else word for word in words)]
    bin_folder = tmp_path / "bin"
    uv = {
        "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": str(tmp_path / "wheels"),
        "UV_TOOL_DIR": str(tmp_path / "tools"),
        "UV_TOOL_BIN_DIR": str(bin_folder),
        "UV_CACHE_DIR": str(tmp_path / "cache"),
        "UV_PYTHON": sys.executable,
    }
    run([*command, "--offline"], tmp_path, **uv)
    (site,) = tmp_path.glob("tools/slowwave/lib/python*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_paths()["purelib"], encoding="utf-8")
    assert run([bin_folder / "slowwave", "--version"], tmp_path).stdout.startswith("slowwave ")
    assert run([bin_folder / "prefect", "--version"], tmp_path).stdout.strip() == metadata.version("prefect")


def test_the_wheel_holds_every_file_and_no_other(wheel: Path) -> None:
    assert content(wheel) == sources()
    assert {"slowwave/py.typed", "slowwave/_project/flows/nightly.py", "slowwave/cli/__init__.py"} <= content(wheel)


def test_a_wheel_made_from_the_source_distribution_is_the_same(wheel: Path, tmp_path: Path) -> None:
    run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path], ROOT)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    (project,) = (tmp_path / "unpacked").iterdir()
    assert content(wheel_of(project, tmp_path / "again")) == content(wheel)
    there = {p.relative_to(project).as_posix() for p in project.rglob("*") if p.is_file()}
    assert {"Makefile", "requirements.lock", "CHANGELOG.md", "LICENSE", "tests/test_packaging.py"} <= there


def test_the_version_tells_the_commit_also_of_a_wheel_made_from_a_source_distribution(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in ("lib", "flows", "tasks"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "prefect.yaml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout / name)
    assert commit_of(checkout) == ""
    git(tmp_path, "init", "-q")  # a repository around it is somebody else's
    assert commit_of(checkout) == ""
    git(checkout, "init", "-q")
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "first")
    commit = commit_of(checkout)
    assert re.fullmatch(r"commit [0-9a-f]{12} of \d{4}-\d\d-\d\d", commit)
    (checkout / "README.md").write_text("changed", encoding="utf-8")
    assert commit_of(checkout) == f"{commit}, with changes"
    git(checkout, "checkout", "-q", "README.md")
    run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path], checkout)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    (project,) = (tmp_path / "unpacked").iterdir()
    wheel = wheel_of(project, tmp_path / "wheel")
    assert zipfile.ZipFile(wheel).read("slowwave/COMMIT").decode() == commit
    assert sorted(p.name for p in wheel.parent.iterdir()) == [wheel.name]
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    said = run([sys.executable, "-m", "slowwave", "--version"], tmp_path, PYTHONPATH=str(tmp_path / "installed"))
    assert re.fullmatch(rf"slowwave \S+ \({commit}\)\n", said.stdout)


def test_the_command_answers_from_a_hostile_folder(command: Path, hostile: Path, own_home: Path) -> None:
    assert "nightly" in run([command, "run", "--help"], hostile).stdout
    assert run([command.with_name("python"), "-m", "slowwave", "--version"], hostile).stdout.startswith("slowwave ")
    store = build(own_home, datetime.now(UTC)).home
    done = run([command, "run", "extract", "--direct", "--dry-run", "--json", "--store", store], hostile)
    report = orjson.loads(done.stdout)
    assert (report["job"], report["failures"]) == ("extract", [])
    assert report["counts"]["candidates"] > 0


def test_a_night_through_prefect_works_from_a_hostile_folder(command: Path, hostile: Path, own_home: Path) -> None:
    store = build(own_home, datetime.now(UTC)).home
    arguments = ["-m", "slowwave", "run", "nightly", "--prefect", "--json", "--store", store]
    night = run([command.with_name("python"), *arguments], hostile)
    report = orjson.loads(night.stdout)
    assert (report["failures"], len(report["dream_ids"]) > 0) == ([], True)
    assert night.stderr == ""
    where = run([command.with_name("python"), "-c", "import slowwave; print(slowwave.__file__)"], hostile)
    assert Path(where.stdout.strip()).is_relative_to(command.parents[1])
