"""Homes of every client with secrets in their sessions, and the forms in which these could still stand somewhere."""

import base64
import json
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import zstandard

from slowwave.cli import main
from slowwave.context import FixedClock
from slowwave.errors import DONE, REFUSED
from slowwave.formats.crabtalk.write import CrabtalkWriter
from slowwave.formats.ulid.write import UlidWriter
from slowwave.formats.writing import Draft, Means, Target
from tests.unit.stores import families

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSWORD = "hunter2-Xq9!zT"
SAID = f"mend it with {TOKEN}, the password is {PASSWORD}"
OLD = 1_700_000_000
NOW = datetime(2025, 2, 11, 10, tzinfo=UTC)
ULID = "01JKQ5W8ZP3V9YB2C4D6E8F0GH"


def forms(secret: str) -> list[bytes]:
    """Return how a secret could still stand in a file."""
    coded = [base64.b64encode(b"x" * shift + secret.encode())[4:-4] for shift in range(3)]
    return [secret.encode(), json.dumps(secret)[1:-1].encode(), quote(secret, safe="").encode(), *coded]


def left_in(home: Path) -> list[str]:
    """Return the files in which a secret stands in any form, whatever packs them."""
    every = [b"MIIEowIBAAKC", *(form for secret in (TOKEN, PASSWORD) for form in forms(secret))]
    files = [path for path in home.rglob("*") if path.is_file()]
    return [str(path) for path in files if any(form in content(path) for form in every)]


def content(path: Path) -> bytes:
    """Return the plain bytes of a file."""
    data = path.read_bytes()
    return zstandard.ZstdDecompressor().decompressobj().decompress(data) if path.suffix == ".zst" else data


def contents(home: Path) -> dict[str, bytes]:
    """Return the plain bytes of all files of a home."""
    return {str(path.relative_to(home)): content(path) for path in sorted(home.rglob("*")) if path.is_file()}


def aged(home: Path) -> None:
    """Let every file have rested for long."""
    for path in home.rglob("*"):
        os.utime(path, (OLD, OLD))


def erase(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    """Run the job, look that it prints no secret, and return its report."""
    code = main(["run", "erase", "--secrets", "--direct", "--json", *more])
    out = capsys.readouterr()
    stays = "--apply" in more and '"refused"' in out.out
    assert code == (REFUSED if stays else DONE), out.err
    printed = (out.out + out.err).encode()
    assert not any(form in printed for secret in (TOKEN, PASSWORD) for form in forms(secret))
    return json.loads(out.out)


def _planted(root: Path, path: Path) -> Path:
    """Let a person say the secrets in every file of lines."""
    for file in root.rglob("*.jsonl"):
        file.write_bytes(file.read_bytes().replace(b"mend it", SAID.encode()))
    return path


def claude(home: Path) -> Path:
    """Return the store of Claude Code: sub-agents in both places, forks, a long result, prompts in the home."""
    family = families.claude(home)
    side = family.path.with_suffix("")
    (side / "tool-results").mkdir()
    lines = ("MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn", "ygWyF8PbnGy0AHB7MaXRmBfEt")
    key = "\n".join(("-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"))
    (side / "tool-results" / "b1.txt").write_text(f"some lines\nTOKEN={TOKEN}\n{key}\nend\n")
    (family.root / "history.jsonl").write_text(json.dumps({"display": SAID, "project": "/work"}) + "\n")
    for agent in ("agent-a2.jsonl", f"{family.main}/subagents/agent-a1.jsonl"):
        path = family.path.parent / agent
        path.write_bytes(path.read_bytes().replace(b"look", SAID.encode() + b" look"))
    return _planted(family.root, family.root)


def cersei(home: Path) -> Path:
    """Return a store of Cersei."""
    family = families.cersei_forks(home)
    return _planted(family.root, family.root)


def pi(home: Path) -> Path:
    """Return a store of pi."""
    family = families.pi(home)
    return _planted(family.root, family.root)


def clawdbot(home: Path) -> Path:
    """Return a store of Clawdbot, with a transcript that it has put aside and names in its index."""
    family = families.clawdbot(home)
    aside = family.path.with_name(f"{families.named(9)}.jsonl.reset.2026-03-15T10-00-00.000Z")
    aside.write_bytes(family.path.read_bytes().replace(family.main.encode(), families.named(9).encode()))
    aside.write_bytes(aside.read_bytes().replace(b"mend it", SAID.encode()))
    index = family.path.with_name("sessions.json")
    entries = json.loads(index.read_bytes())
    entries["agent:main:main"]["displayName"] = f"deploy with {TOKEN}"
    index.write_text(json.dumps(entries, indent=2))
    return _planted(family.root, family.root)


def codex(home: Path) -> Path:
    """Return a home of Codex: a fork by reference, a rollout that is packed, one in both forms, names and prompts."""
    family = families.codex(home)
    before = family.path.stat().st_size
    _planted(family.root, family.root)
    size = family.path.stat().st_size
    for path in family.root.rglob("*.jsonl"):
        path.write_bytes(re.sub(rb'("end_byte_offset": )%d' % before, rb"\g<1>%d" % size, path.read_bytes()))
    agent, older, *_ = sorted((family.root / "sessions" / "2026" / "11" / "22").iterdir())
    for path in (agent, older):
        said = path.read_bytes().replace(b"and this", SAID.encode())
        path.write_bytes(said)
        path.with_name(path.name + ".zst").write_bytes(zstandard.ZstdCompressor(3).compress(said))
    agent.unlink()
    (family.root / "history.jsonl").write_text(json.dumps({"session_id": family.main, "ts": 1, "text": SAID}) + "\n")
    name = {"id": family.main, "thread_name": f"use {TOKEN}", "updated_at": "2026-11-21T20:53:12Z"}
    (family.root / "session_index.jsonl").write_text(json.dumps(name) + "\n")
    return family.root


def opencode(home: Path) -> Path:
    """Return a data folder of an opencode that kept its sessions in files."""
    family = families.opencode_tree(home)
    for path in family.root.rglob("*.json"):
        path.write_bytes(path.read_bytes().replace(b"mend it", SAID.encode()))
    return family.root


def crabtalk(home: Path) -> Path:
    """Return a store of crabtalk."""
    writer = CrabtalkWriter(Means(FixedClock(NOW), home))
    path = writer.begin(home / ".crabtalk" / "sessions", "crab", "user")
    _talk(writer, Target("crab_user_1", path, (path,)))
    return home / ".crabtalk"


def ulid(home: Path) -> Path:
    """Return a store of the specification with ULIDs; the name of the session holds a secret, too."""
    writer = UlidWriter(Means(FixedClock(NOW), home))
    path = writer.begin(home / ".agent" / "sessions", ULID, name=f"use {TOKEN}")
    _talk(writer, Target(ULID, path, (path,)))
    return home / ".agent"


def _talk(writer: CrabtalkWriter | UlidWriter, target: Target) -> None:
    for role, text in (("user", SAID), ("assistant", f"done: {TOKEN}"), ("user", "go on")):
        writer.message(target, Draft("user" if role == "user" else "assistant", text))


WRITTEN: tuple[Callable[[Path], Path], ...] = (
    *(claude, cersei, pi, clawdbot, codex, crabtalk, ulid),
    opencode,
)
