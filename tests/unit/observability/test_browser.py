"""The report in a real browser: nothing is clipped, nothing breaks, it reads in light and dark; and its picture.

Run as a script, it draws the picture in ``docs/pictures`` anew.
"""

import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import get_args

import pytest

from slowwave.observability.page.html import html_of
from slowwave.observability.page.sections import View
from slowwave.observability.weeks import Week
from tests.browser import Scheme, measured, needs_chromium, picture
from tests.unit.observability.nights import a_busy_month, a_night

ROOT = Path(__file__).parents[3]
PICTURES = ROOT / "docs" / "pictures"
WEEKS = [Week(date(2026, 1, 5), 5_000_000, 1_000_000), Week(date(2026, 3, 2), 0, 7_400_000)]
PAGES = {"busy": View(a_busy_month(), WEEKS), "first night": View([a_night()])}

# texts of pictures that reach beyond their picture or over each other, and elements whose text is cut off
CLIPPED = """
const wrong=[];
for(const svg of document.querySelectorAll('svg')){
  const box=svg.getBoundingClientRect(), texts=[...svg.querySelectorAll('text')].map(t=>[t,t.getBoundingClientRect()]);
  for(const [t,r] of texts){
    if(r.left<box.left-1||r.right>box.right+1||r.top<box.top-1||r.bottom>box.bottom+1)
      wrong.push('outside: '+t.textContent);
    for(const [u,s] of texts) if(t!==u&&r.left<s.right-1&&s.left<r.right-1&&r.top<s.bottom-2&&s.top<r.bottom-2)
      wrong.push('over each other: '+t.textContent+' / '+u.textContent);
  }
}
for(const e of document.querySelectorAll('body *:not(svg *):not(caption)'))
  if(e.scrollWidth>e.clientWidth+1&&e.clientWidth>0) wrong.push('cut: '+e.tagName+' '+e.textContent.slice(0,60));
if(document.documentElement.scrollWidth>innerWidth+1) wrong.push('wider than the window');
return wrong;
"""
# contrast of every text with what is behind it, as WCAG counts it; 4.5 is what it asks for
CONTRAST = """
const parts=c=>c.match(/[\\d.]+/g).map(Number);
const light=c=>{const [r,g,b]=parts(c).map(v=>{v/=255;return v<=.03928?v/12.92:((v+.055)/1.055)**2.4});
  return .2126*r+.7152*g+.0722*b};
const behind=e=>{for(;e;e=e.parentElement){const c=getComputedStyle(e).backgroundColor,p=parts(c);
  if(p.length===3||p[3]>0) return c} return 'rgb(255,255,255)'};
const wrong=[];
for(const e of document.querySelectorAll('h1,h2,p,th,td,svg text')){
  const s=getComputedStyle(e),a=light(e.tagName==='text'?s.fill:s.color),b=light(behind(e));
  const ratio=(Math.max(a,b)+.05)/(Math.min(a,b)+.05);
  if(ratio<4.5) wrong.push(e.tagName+' '+ratio.toFixed(1)+' '+e.textContent.slice(0,40));
}
return {wrong, dark: light(getComputedStyle(document.body).backgroundColor)<.2};
"""


@needs_chromium
@pytest.mark.parametrize("width", [500, 1200])
@pytest.mark.parametrize("page", PAGES)
def test_no_text_is_clipped_and_nothing_breaks(tmp_path: Path, page: str, width: int) -> None:
    assert measured(html_of(PAGES[page]), CLIPPED, tmp_path, width=width) == {"value": [], "errors": []}


@needs_chromium
def test_clipped_text_would_be_found(tmp_path: Path) -> None:
    cut = html_of(PAGES["busy"]).replace("</style>", "td{max-width:3em;overflow:hidden;white-space:nowrap}</style>")
    cut = cut.replace('viewBox="0 0 640', 'viewBox="60 0 300', 1)
    wrong = measured(cut, CLIPPED, tmp_path)["value"]
    assert any(one.startswith("cut: TD") for one in wrong)
    assert any(one.startswith("outside: ") for one in wrong)


@needs_chromium
@pytest.mark.parametrize("scheme", get_args(Scheme))
def test_every_text_can_be_read_in_light_and_in_dark(tmp_path: Path, scheme: Scheme) -> None:
    found = measured(html_of(PAGES["busy"]), CONTRAST, tmp_path, scheme=scheme)
    assert found == {"value": {"wrong": [], "dark": scheme == "dark"}, "errors": []}


@needs_chromium
def test_the_browser_draws_it(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(html_of(PAGES["busy"]), encoding="utf-8")
    picture(page.as_uri(), tmp_path / "report.png")
    assert (tmp_path / "report.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "report.html"
        written.write_text(html_of(PAGES["busy"]), encoding="utf-8")
        for theme in get_args(Scheme):
            picture(
                written.as_uri(),
                PICTURES / f"report-{theme}.png",
                scheme=theme,
                width=1100,
                height=1700 if theme == "light" else 1500,
            )
    sys.exit(0)
