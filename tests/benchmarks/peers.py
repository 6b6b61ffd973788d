"""The programs that the load is measured against, set up once under ``build/bench``; nothing of the system changes."""

import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
PI_PACKAGE = "@mariozechner/pi-coding-agent@0.73.1"
_CRATES = "serde serde-derive serde-json itoa ryu syn quote proc-macro2 unicode-ident".split()  # noqa: SIM905


def rust_loader(build: Path) -> Path | None:
    """Return the loader in Cersei's shape, compiled; None (and the reason printed) where that cannot be done.

    The crates come from Debian's packages, unpacked beside the result, since they can be had without a crate registry.
    """
    program = build / "target" / "release" / "loader"
    if program.exists():
        return program
    if not shutil.which("cargo"):
        print("no cargo here: the loader in Cersei's shape is not measured")
        return None
    registry = build / "crates" / "usr" / "share" / "cargo" / "registry"
    try:
        if not registry.is_dir():
            _unpack_crates(build / "crates")
        source = build / "loader"
        shutil.copytree(HERE / "loader", source, dirs_exist_ok=True)
        settings = ["source.crates-io.replace-with='debian'", f"source.debian.directory='{registry}'"]
        command = ["cargo", "build", "--release", "--offline", "--quiet", "--target-dir", str(build / "target")]
        for setting in settings:
            command += ["--config", setting]
        subprocess.run(command, cwd=source, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        detail = getattr(error, "stderr", b"") or b""
        print(f"the loader in Cersei's shape cannot be built ({error}): {detail.decode(errors='replace')[-300:]}")
        return None
    return program


def _unpack_crates(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"librust-{crate}-dev" for crate in _CRATES]
    subprocess.run(["apt-get", "download", "--quiet", *names], cwd=folder, check=True, capture_output=True)
    for package in sorted(folder.glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", str(package), "."], cwd=folder, check=True)


def pi_loader(build: Path) -> list[str] | None:
    """Return the command that opens a session with pi; None (and the reason printed) where pi cannot be had."""
    return _pi(build, "pi_load.mjs")


def pi_context(build: Path) -> list[str] | None:
    """Return the command that builds a context with pi; None (and the reason printed) where pi cannot be had."""
    return _pi(build, "pi_context.mjs")


def _pi(build: Path, script: str) -> list[str] | None:
    folder = build / "pi"
    if not shutil.which("node") or not shutil.which("npm"):
        print("no node and npm here: pi is not measured")
        return None
    try:
        if not (folder / "node_modules").is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", PI_PACKAGE]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        shutil.copy(HERE / script, folder)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"pi cannot be installed ({error})")
        return None
    return ["node", str(folder / script)]


def ripgrep(build: Path) -> str | None:
    """Return ripgrep's program, unpacked from Debian's package when it is not installed; None (and why, printed)."""
    if found := shutil.which("rg"):
        return found
    folder = build / "ripgrep"
    program = folder / "usr" / "bin" / "rg"
    try:
        if not program.exists():
            folder.mkdir(parents=True, exist_ok=True)
            subprocess.run(["apt-get", "download", "--quiet", "ripgrep"], cwd=folder, check=True, capture_output=True)
            for package in folder.glob("*.deb"):
                subprocess.run(["dpkg-deb", "--extract", package.name, "."], cwd=folder, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"ripgrep cannot be had ({error}): the words of 1 GB are not measured against it")
        return None
    return str(program)
