"""A headless Chromium that looks at pages: what it draws, and what a script inside the page measures."""

import html
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Literal

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (apt-get install chromium)")

# it starts as root in containers, talks to nobody, and looks up no name
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--virtual-time-budget=30000",
]
NOBODY = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
RESULT = "measured-by-test"
Scheme = Literal["light", "dark"]


def _run(page: str, *flags: str, scheme: Scheme, width: int, height: int) -> str:
    with tempfile.TemporaryDirectory() as home:
        command = [
            str(CHROMIUM),
            *FLAGS,
            NOBODY,
            f"--user-data-dir={home}",
            f"--window-size={width},{height}",
            f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}",
            *flags,
            page,
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=200)
    return done.stdout


def picture(page: str, target: Path, *, scheme: Scheme = "light", width: int = 1200, height: int = 900) -> None:
    """Draw a page (an address) into a PNG."""
    _run(page, f"--screenshot={target}", scheme=scheme, width=width, height=height)


def measured(text: str, script: str, folder: Path, *, scheme: Scheme = "light", width: int = 1200) -> Any:
    """Return what a script inside a copy of a page returns; the page's own policy, which would refuse it, is left out.

    Errors of the page while it loads come back as ``{"errors": [...]}`` beside ``{"value": ...}``.
    """
    watch = (
        "<script>window.broken=[];addEventListener('error',e=>broken.push(String(e.message||e.target)),true)</script>"
    )
    ask = (
        f"<script>addEventListener('load',()=>{{const p=document.createElement('pre');p.id='{RESULT}';"
        f"p.textContent=JSON.stringify({{value:(()=>{{{script}}})(),errors:broken}});document.body.append(p)}})</script>"
    )
    open_text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', watch, text)
    assert open_text != text
    copy = folder / f"measured-{scheme}-{width}.html"
    copy.write_text(open_text.replace("</body>", f"{ask}</body>"), encoding="utf-8")
    dom = _run(copy.as_uri(), "--dump-dom", scheme=scheme, width=width, height=900)
    found = re.search(rf'<pre id="{RESULT}">(.*?)</pre>', dom, re.DOTALL)
    assert found, dom[-2000:]
    return json.loads(html.unescape(found[1]))
