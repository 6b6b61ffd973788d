"""What an operator sees in Prefect's pages after a night: no error, no request to anybody else, no text cut off.

A server, the deployments, a worker and one night over the sample week, all real; then a browser that looks at every
page on a phone, a tablet and a desk, light and dark (``make screens``). With ``RECORD=1`` the pictures in
``docs/pictures`` are drawn anew.
"""

import os
import re
import socket
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest

from slowwave.jobs.parameters import BackfillParameters
from slowwave.observability.page import report_path
from slowwave.samples import build
from slowwave.service.server import own_server
from tests.browser import Scheme, needs_chromium
from tests.flows.test_server import call, run, worker
from tests.screens.devtools import Page, a_page

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
LARGEST = 200_000
WIDTH = 1400
WIDTHS = (390, 768, WIDTH)
# of a picture; the page itself is looked at as a whole
HIGHEST = 1500

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.drill,
    pytest.mark.timeout(1200),
    needs_chromium,
    pytest.mark.skipif(
        os.environ.get("DRILLS") != "all", reason="a server, a worker and a browser, for minutes: with make screens"
    ),
]

# Prefect asks for three pictures that it does not bring along
OF_PREFECT = re.compile(r"/favicon(-dark)?\.ico|/ico/undefined\.svg")
# on a phone its list of deployments leaves 66 pixels for a name, and shortens each with dots
SHORTENED = {f"cut: {name}" for name in ("Deployment", "compact", "consolidate")}
BROKEN = re.compile(r"not found|something went wrong|can.t connect|internal server error", re.IGNORECASE)

# what the log of a night says of each dream
PHASES = ["oriented on ", ", gathered ", ", consolidated ", ", pruned "]

# chooses the tab TAB where tabs are a list
CHOOSE = """
const there=e=>[...e.options].findIndex(o=>o.text.trim()==='TAB');
const list=[...document.querySelectorAll('select')].find(e=>there(e)>=0&&e.getClientRects().length);
if(list){list.selectedIndex=there(list);list.dispatchEvent(new Event('change',{bubbles:true}))}
return !!list;
"""

# every text of the page that reaches out of what shows it: a box that cuts it off, or the window
CLIPPED = """
const wrong=[], walker=document.createTreeWalker(document.body,NodeFilter.SHOW_TEXT);
for(let node;node=walker.nextNode();){
  const text=node.textContent.trim(), range=document.createRange(), owner=node.parentElement;
  if(!text||owner.closest('script,style,noscript,option,svg')) continue;
  if(!owner.checkVisibility({visibilityProperty:true})) continue;
  range.selectNodeContents(node);
  const boxes=[...range.getClientRects()].filter(r=>r.width>1);
  for(let e=owner;e&&e!==document.body&&boxes.length;e=e.parentElement){
    const s=getComputedStyle(e), b=e.getBoundingClientRect();
    if(b.width<=1) break;  // there for screen readers only
    // a table that is pushed sideways on a narrow screen is no text that is lost
    if(innerWidth<1000&&['auto','scroll'].includes(s.overflowX)&&e.scrollWidth>e.clientWidth+1){boxes.length=0;break}
    if(!boxes.some(r=>s.overflowX!=='visible'&&(r.right>b.right+1.5||r.left<b.left-1.5)||
      ['hidden','clip'].includes(s.overflowY)&&(r.bottom>b.bottom+3||r.top<b.top-3))) continue;
    wrong.push('cut: '+text.slice(0,90));
    break;
  }
  if(boxes.some(r=>r.right>innerWidth+1)) wrong.push('beyond the window: '+text.slice(0,90));
}
return wrong;
"""


@dataclass(frozen=True, slots=True)
class Screen:
    """One page: where it is, what it must say, how large its window is, and whether the documents show it."""

    name: str
    path: str
    says: list[str]
    width: int = WIDTH
    height: int = 1000
    tab: str = ""
    # what is said where there is room for every column
    wide: Sequence[str] = ()
    shown: bool = True


@contextmanager
def a_night(home: Path, place: Path) -> Generator[str]:
    """Run a server with our deployments and a worker, and one night; yield the address of the server's API."""
    build(home, datetime.now(UTC))
    with own_server(place, os.environ) as api:
        env = {"PREFECT_API_URL": api, "PREFECT_HOME": str(place)}
        deployed = run("slowwave", "deploy", "--timezone", "Europe/Berlin", "--create-pool", **env)
        assert deployed.returncode == 0, deployed.stderr
        with worker(api, place):
            night = run("prefect", "deployment", "run", "nightly/nightly", "--watch", **env)
            assert night.returncode == 0, night.stdout + night.stderr
            yield api


def screens_of(api: str) -> list[Screen]:
    """Return the pages to look at: lists of all there is, the night with its log and artifacts, a form."""
    (night,) = [r for r in call(api, "/flow_runs/filter", {}) if r["state_type"] == "COMPLETED"]
    artifacts = {a["key"]: a for a in call(api, "/artifacts/filter", {})}
    assert set(artifacts) == {"nights", "nightly-funnel", "nightly-memory-diff"}
    descriptions = [artifact["description"] for artifact in artifacts.values()]
    headings = re.findall(r"^## (.+)$", artifacts["nights"]["data"], re.MULTILINE)
    names = [deployment["name"] for deployment in call(api, "/deployments/filter", {})]
    form = call(api, "/deployments/name/backfill/backfill")["id"]
    return [
        Screen("dashboard", "/dashboard", ["Flow Runs", "You currently have 0 failed or crashed runs.", "slowwave"]),
        Screen("deployments", "/deployments", names, wide=["At 03:30 AM every day"]),
        Screen("night", f"/runs/flow-run/{night['id']}", [*artifacts, *descriptions, "Completed"], tab="Artifacts"),
        Screen("runs", "/runs", [night["name"], "Completed"], shown=False),
        Screen("log", f"/runs/flow-run/{night['id']}", [night["name"], *PHASES], height=3400, shown=False),
        Screen("artifacts", "/artifacts", [*artifacts, *descriptions], shown=False),
        Screen("automations", "/automations", ["slowwave: worker died", "for 3 minutes"], shown=False),
        Screen("funnel", f"/artifacts/artifact/{artifacts['nightly-funnel']['id']}", ["From sessions to memories"]),
        Screen("report", f"/artifacts/artifact/{artifacts['nights']['id']}", headings, width=1100, height=840),
        Screen("backfill-form", f"/deployments/deployment/{form}/run", list(texts_of_form()), width=1100, height=2900),
    ]


def texts_of_form() -> Iterator[str]:
    """Yield the title and the description of every parameter of a backfill."""
    schema: dict[str, Any] = BackfillParameters.model_json_schema()
    for shown in schema["properties"].values():
        yield shown["title"]
        yield shown["description"]


def seen(page: Page, base: str, screen: Screen, picture: Path, width: int = 0, scheme: Scheme = "light") -> list[str]:
    """Open a page in a window of its own width or another one, draw it, and return everything that is wrong with it."""
    width = width or screen.width
    page.go(f"{base}{screen.path}", width=width, height=screen.height, scheme=scheme)
    if screen.tab:
        page.until(f"document.body.innerText.includes({screen.tab!r})")
        page.still()
        # on a narrow screen tabs are a list to choose from
        if not page.run(CHOOSE.replace("TAB", screen.tab)):
            page.click(f"[...document.querySelectorAll('body *')].findLast(e=>e.textContent.trim()==={screen.tab!r})")
    page.until(f"document.body.innerText.includes({screen.says[0]!r})")
    page.still()
    page.picture(picture, width, min(screen.height, HIGHEST))
    text = " ".join(page.run("return document.body.innerText").split())
    says = [*screen.says, *(screen.wide if width == WIDTH else ())]
    lacks = [f"not there: {said}" for said in says if " ".join(said.split()) not in text]
    # a message of an error lies over the page
    toasts: list[str] = page.run("return [...document.querySelectorAll('.p-toast')].map(e=>'toast: '+e.innerText)")
    loud = [f"says: {found[0]}" for found in BROKEN.finditer(text)]
    strangers = [f"asked {host}" for host in page.hosts() - {"127.0.0.1"}]
    secrets = [f"shows {name}" for name in (str(Path.home()), socket.gethostname()) if re.search(rf"\b{name}\b", text)]
    wrong = [one for one in page.wrong if not OF_PREFECT.search(one)]
    clipped = page.run(CLIPPED)
    if screen.name == "deployments" and width == min(WIDTHS):
        clipped = [one for one in clipped if one not in SHORTENED]
    return [*lacks, *clipped, *toasts, *loud, *strangers, *secrets, *wrong]


def test_an_operator_sees_no_error_and_no_text_that_is_cut_off(own_home: Path, tmp_path: Path) -> None:
    pictures = PICTURES if os.environ.get("RECORD") else tmp_path
    wrong: dict[str, list[str]] = {}
    with a_night(own_home, tmp_path / "server") as api:
        base, screens = api.removesuffix("/api"), screens_of(api)
        drawn = {screen.name: pictures / f"prefect-{screen.name}.png" for screen in screens if screen.shown}
        for scheme in get_args(Scheme):
            with a_page() as page:
                page.remembers({"color-scheme": f'"{scheme}"', "prefect-v2-promo-dismissed": "true"})
                for screen in screens:
                    for width in WIDTHS:
                        name = f"{screen.name}-{width}-{scheme}"
                        wrong[name] = seen(page, base, screen, tmp_path / f"{name}.png", width, scheme)
                    if scheme == "light" and screen.shown:
                        wrong[screen.name] = seen(page, base, screen, drawn[screen.name])
                if scheme == "light":
                    report = Screen("html", report_path(os.environ).as_uri(), ["From sessions to memories", "UTC"])
                    wrong["html"] = seen(page, "", report, tmp_path / "html.png")
    assert {name: found for name, found in wrong.items() if found} == {}
    assert [path.name for path in drawn.values() if path.stat().st_size > LARGEST] == []


def test_what_is_wrong_with_a_page_is_found(tmp_path: Path) -> None:
    page_file = tmp_path / "page.html"
    page_file.write_text(
        "<body><p style='width:5em;overflow:hidden;white-space:nowrap'>a text that is much too long</p>"
        "<p style='height:1em;line-height:1em;width:5em;overflow:hidden'>one line two lines three lines</p>"
        f"<div class=p-toast>No</div><p>Not found: {socket.gethostname()}</p><img src='http://example.org/a.png'>"
        "<script>throw new Error('broken')</script>",
        encoding="utf-8",
    )
    with a_page() as page:
        found = seen(page, "", Screen("bad", page_file.as_uri(), ["Not found", "absent"]), tmp_path / "bad.png")
    said = "\n".join(found)
    for expected in ("not there: absent", "cut: a text", "cut: one line", "toast: No", "says: Not found"):
        assert expected in said
    for expected in ("asked example.org", f"shows {socket.gethostname()}", "Error: broken", "ERR_NAME_NOT_RESOLVED"):
        assert expected in said
