"""The report that is served: who may see it, who may decide, and that a decision does what it says."""

import html
import http.client
import re
import shutil
import stat
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

import pytest

from slowwave.cli import main
from slowwave.context import FixedClock, Run
from slowwave.errors import DONE, REFUSED
from slowwave.extraction import offline, voice
from slowwave.jobs.review import Desk, Waits
from slowwave.jobs.run import memory_folders
from slowwave.jobs.story import run_job
from slowwave.memory.book import read_book
from slowwave.samples import build
from slowwave.service.checks import scheduler
from slowwave.service.page_server import MOST_BYTES, Place, last_place, page_served, place_path
from slowwave.settings import Settings, load_settings

NOW = datetime(2026, 11, 20, 22, 0, tzinfo=UTC)


class Visitor:
    """Somebody with a browser, at a home with one night behind it."""

    def __init__(self, home: Path, settings: Settings, environ: dict[str, str], place: Place) -> None:
        self.home, self.settings, self.environ, self.place = home, settings, environ, place
        self.origin = f"http://127.0.0.1:{place.port}"

    def ask(
        self, path: str | None = None, form: dict[str, str] | None = None, **headers: str
    ) -> tuple[int, dict[str, str], str]:
        """Return status, headers and text of what a page answers; ``form`` makes it a decision."""
        connection = http.client.HTTPConnection("127.0.0.1", self.place.port, timeout=60)
        body = None if form is None else urlencode(form)
        usual = {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded"} if form else {}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        to = path if path is not None else f"/{self.place.token}/{'decide' if form else ''}"
        connection.request("POST" if form else "GET", to, body, {**usual, **named})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text

    def form(self) -> dict[str, str]:
        """Return what the first decision on the page would send."""
        page = self.ask()[2]
        first = page[page.index('<form method="post" action="decide">') :]
        return {n: html.unescape(v) for n, v in re.findall(r'name="(form|id|project)" value="([^"]*)"', first)[:3]}

    def waiting(self) -> list[Waits]:
        """Return what waits now."""
        folders = memory_folders(self.settings, self.environ)
        return Desk(folders, self.settings, self.environ, FixedClock(NOW)).waiting(every=False)

    def texts(self) -> set[str]:
        """Return everything that is remembered."""
        return {m.text for f in memory_folders(self.settings, self.environ) for m in read_book(f.path).active}


def environ_of(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_DATA_HOME": str(home / "data")}


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home with one night behind it, which each test copies."""
    home = build(tmp_path_factory.mktemp("night") / "home", NOW).home
    environ = environ_of(home)
    # sentence by sentence, each of them doubted, so that several things of one message wait
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offline, "WHOLE_CHARS", 0)
        patch.setattr(voice, "_BAR", -99.0)
        run_job("nightly", Run("r1", load_settings(environ, cwd=home), FixedClock(NOW), environ))
    return home


@pytest.fixture
def visitor(night: Path, tmp_path: Path) -> Generator[Visitor]:
    home = tmp_path / "home"
    shutil.copytree(night, home)
    environ = environ_of(home)
    settings = load_settings(environ, cwd=home)
    with page_served(lambda: settings, environ, FixedClock(NOW)) as place:
        yield Visitor(home, settings, environ, place)


def test_the_page_is_kept_from_every_cache_and_frame_and_every_other_origin(visitor: Visitor) -> None:
    status, headers, page = visitor.ask()
    assert status == 200
    assert "Waiting for you" in page
    assert headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "script" not in headers["content-security-policy"]
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert not [name for name in headers if name.startswith("access-control") or name == "set-cookie"]


@pytest.mark.parametrize("path", ["/", "/x/", "/{}", "/{}x/", "/{}/x", "/{}/?a=b", "/{}/../{}/"])
def test_without_the_whole_address_nothing_is_shown(visitor: Visitor, path: str) -> None:
    status, _, text = visitor.ask(path.replace("{}", visitor.place.token))
    assert status == 403
    assert "slowwave serve" in text
    assert "remembered" not in text


def test_its_address_is_printed_as_long_as_it_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = environ_of(tmp_path)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    settings = load_settings(environ, cwd=tmp_path)
    with page_served(lambda: settings, environ, FixedClock(NOW)) as place:
        assert main(["review", "--url"]) == DONE
        assert capsys.readouterr().out == f"{place.address}\n"
        (check,) = scheduler(environ, datetime.now(UTC))
        assert "slowwave serve is at work" in check.seen
        assert "nothing is scheduled" not in check.seen
        monkeypatch.setenv("CLAUDECODE", "1")
        assert main(["review", "--url"]) == REFUSED
        monkeypatch.delenv("CLAUDECODE")
    assert main(["review", "--url"]) != DONE
    said = capsys.readouterr()
    assert (place.token in said.out + said.err, "start slowwave serve" in said.err) == (False, True)
    assert "no slowwave serve is at work" in next(scheduler(environ, datetime.now(UTC))).seen


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example"])
def test_another_name_that_leads_here_shows_nothing(visitor: Visitor, host: str) -> None:
    assert visitor.ask(Host=host)[0] == 403
    assert visitor.ask(Host=f"localhost:{visitor.place.port}")[0] == 200


def test_a_decision_is_taken_from_the_page_alone(visitor: Visitor) -> None:
    form = {**visitor.form(), "do": "accept"}
    before = visitor.texts()
    for origin in ("http://evil.example", "null", "", f"http://127.0.0.1:{visitor.place.port + 1}"):
        assert visitor.ask(form=form, Origin=origin)[0] == 403
    for old in ("", visitor.place.token, form["form"][:-1]):
        assert visitor.ask(form={**form, "form": old})[0] == 303
        assert "Nothing was decided" in visitor.ask()[2]
    assert visitor.ask("/x/decide", form=form)[0] == 403
    assert visitor.ask(form=form, Content_Length="nothing")[0] == 403
    assert visitor.ask(form={**form, "text": "x"}, Content_Length=str(MOST_BYTES + 1))[0] == 403
    assert visitor.texts() == before


def test_what_is_accepted_is_remembered_and_waits_again_after_its_undo(visitor: Visitor) -> None:
    first, before = visitor.waiting()[0], visitor.texts()
    form = visitor.form()
    assert form["id"] == first.ask.id
    status, headers, _ = visitor.ask(form={**form, "do": "accept"})
    assert (status, headers["location"]) == (303, f"/{visitor.place.token}/#inbox")
    assert visitor.texts() - before == {first.ask.text}
    page = visitor.ask()[2]
    assert "Remembered by dream" in page
    (undo,) = re.findall(r'name="id" value="(d\d{8}T[^"]+)"', page)
    visitor.ask(form={"form": form["form"], "id": undo, "do": "undo"})
    assert visitor.texts() == before
    assert visitor.waiting()[0].ask.id == first.ask.id
    assert "Taken back" in visitor.ask()[2]


def test_what_is_reworded_or_rejected_goes_from_the_inbox(visitor: Visitor) -> None:
    waiting = [one.ask for one in visitor.waiting()]
    rejected = next(one for one in waiting if one.text.startswith("I prefer pnpm"))
    edited = next(one for one in waiting if one.text.startswith("We're going with a number"))
    others = [one for one in waiting if one not in (rejected, edited)]
    form = visitor.form()
    visitor.ask(form={"form": form["form"], "id": rejected.id, "project": rejected.project, "do": "reject"})
    second = {"form": form["form"], "id": edited.id, "project": edited.project}
    visitor.ask(form={**second, "do": "edit", "text": "We ship on Tuesdays <b>only</b>"})
    assert "We ship on Tuesdays <b>only</b>" in visitor.texts()
    assert "We ship on Tuesdays &lt;b&gt;only" in visitor.ask()[2]
    left = {one.ask.id for one in visitor.waiting()}
    assert not left & {edited.id, rejected.id}
    # "I prefer pnpm over npm" takes "No, please don't use npm here" along, and nothing else
    assert [one.text for one in others if one.id not in left] == ["No, please don't use npm here"]


def test_all_that_came_from_one_message_is_rejected_by_one_button_and_taken_back(visitor: Visitor) -> None:
    before = [waits.ask for waits in visitor.waiting()]
    first = next(one for one in before if one.text.startswith("I prefer pnpm"))
    together = {one.id for one in before if one.message == first.message}
    assert len(together) == 2
    assert visitor.ask()[2].count("Reject all 2 of this message") == 2
    form = visitor.form()
    visitor.ask(form={"form": form["form"], "id": first.id, "project": first.project, "do": "message"})
    page = visitor.ask()[2]
    assert "Rejected: all 2 of one message" in page
    left = {waits.ask.id for waits in visitor.waiting()}
    # and what says the same in another message
    also = [one.text for one in before if one.id not in left | together]
    assert (together & left, also) == (set(), ["We always use pnpm instead of npm in this repository"])
    (undo,) = re.findall(r'name="id" value="([^"]+)"><button name="do" value="undo">', page)
    visitor.ask(form={"form": form["form"], "id": undo, "do": "undo"})
    assert [waits.ask.id for waits in visitor.waiting()] == [one.id for one in before]


@pytest.mark.parametrize("what", [{"do": "delete"}, {"id": "zzz", "do": "accept"}, {"do": "edit", "text": " "}])
def test_what_cannot_be_done_is_told_on_the_page(visitor: Visitor, what: dict[str, str]) -> None:
    before = visitor.texts()
    assert visitor.ask(form={**visitor.form(), **what})[0] == 303
    assert "role='status'>" in visitor.ask()[2]
    assert visitor.texts() == before


def test_the_address_is_for_its_owner_alone_and_stays_the_same(visitor: Visitor, tmp_path: Path) -> None:
    path = place_path(visitor.environ)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert last_place(visitor.environ) == visitor.place
    assert len(visitor.place.token) >= 43
    # its port is taken: another one, and the same token
    with page_served(lambda: visitor.settings, visitor.environ, FixedClock(NOW)) as other:
        assert other.token == visitor.place.token
        assert other.port != visitor.place.port
    path.write_text('{"port": 1, "token": "short"}')
    assert last_place(visitor.environ).token != "short"
    assert last_place({"HOME": str(tmp_path / "new")}).port == 0
