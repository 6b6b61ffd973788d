"""Load 50 MB with tombstones, and how much memory a scan needs."""

import subprocess
import sys
from pathlib import Path

from measure import Row, compared, cpu_of
from peers import HERE, pi_loader, rust_loader
from sessions_data import VERSION, Maker, cersei_lines, claude_lines, pi_lines, write_lines

ONE = 49_900_000
PUBLISHED_RUST_S = 0.366


def load(build: Path, rounds: int) -> list[Row]:
    """Load 50 MB with tombstones, whole process: against Cersei's way in Rust and against pi."""
    data = build / f"data-{VERSION}"
    cersei = write_lines(data / "cersei.jsonl", cersei_lines(Maker(1), ONE, 241))
    claude = write_lines(data / "claude.jsonl", claude_lines(Maker(1), ONE))
    pi_file = write_lines(data / "pi.jsonl", pi_lines(Maker(1), 42_000_000))
    ours = [sys.executable, str(HERE / "load_one.py")]
    commands: dict[str, list[str]] = {"ours, cersei": [*ours, str(cersei)], "ours, claude": [*ours, str(claude)]}
    rust, pi = rust_loader(build), pi_loader(build)
    if rust:
        commands["Rust, Cersei's way"] = [str(rust), str(cersei)]
    if pi:
        commands["pi SessionManager"] = [*pi, str(pi_file)]
    times = cpu_of(commands, rounds)
    rows: list[Row] = []
    if rust:
        rows.append(compared("load 50 MB, cersei", times, "ours, cersei", "Rust, Cersei's way", 0.6))
    else:
        figure = f"{PUBLISHED_RUST_S} s elsewhere"
        rows.append(Row("load 50 MB, cersei", f"{times['ours, cersei']:.3f} s", "Rust, not here", figure, None, 0.6))
    for name in ("cersei", "claude"):
        if pi:
            rows.append(compared(f"load 50 MB, {name}", times, f"ours, {name}", "pi SessionManager", 0.3))
        else:
            rows.append(Row(f"load 50 MB, {name}", f"{times[f'ours, {name}']:.3f} s", "pi, not here", "-", None, 0.3))
    return rows


def memory(build: Path, _rounds: int) -> list[Row]:
    """Peak memory of a scan: of many short lines, and of a file with one line of 100 MB."""
    data = build / f"data-{VERSION}"
    short = write_lines(data / "large.jsonl", cersei_lines(Maker(3), 200_000_000, 900))
    body = b'{"type":"user","message":"' + b"x" * 100_000_000 + b'"}\n'
    long = write_lines(data / "longline.jsonl", iter([b'{"type":"user"}\n', body, b'{"type":"user"}\n']))
    rows: list[Row] = []
    for name, path, largest in (("200 MB of lines", short, 10_000), ("a line of 100 MB", long, len(body))):
        command = [sys.executable, str(HERE / "scan_one.py"), str(path)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        peak, limit = int(output.split()[1]) / 1e6, (largest + 40_000_000) / 1e6
        rows.append(
            Row(f"peak memory, {name}", f"{peak:.0f} MB", "largest line + 40 MB", f"{limit:.0f} MB", peak / limit, 1)
        )
    return rows
