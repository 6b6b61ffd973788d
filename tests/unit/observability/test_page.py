"""The report as a page: every part from recorded facts, told in words, with nothing foreign in force."""

import re
from datetime import date
from html.parser import HTMLParser
from typing import Any

import pytest

from slowwave.observability.page import View, Week, html_of, markdown_of, sections, weeks_of
from slowwave.retention.audit import Action, Line
from tests.unit.observability.nights import a_busy_month, a_night

WEEKS = [Week(date(2026, 3, 2), 5_000_000, 1_000_000), Week(date(2026, 3, 9), 0, 7_400_000)]
BUSY = View(a_busy_month(), WEEKS)
VOID = {"meta", "rect", "line", "br", "hr", "img", "link", "input"}


class Elements(HTMLParser):
    """Collects elements, and sees that each one is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.seen.append((tag, dict(attrs)))


def test_the_page_has_every_part_that_an_operator_looks_for() -> None:
    assert [section.title for section in sections(BUSY)] == [
        "Alarms",
        "From sessions to memories",
        "Memory against its limits",
        "Do memories help",
        "Gates that refused",
        "Tokens and money",
        "Bytes reclaimed",
        "Rescued from Claude Code's clean-up",
        "Backlog",
        "Slowest steps",
        "Nights",
    ]


def test_figures_are_those_that_were_recorded() -> None:
    by_title = {section.title: section for section in sections(BUSY)}
    funnel = {row[0]: row[1] for row in by_title["From sessions to memories"].rows}
    assert (funnel["sessions"], funnel["sessions read"], funnel["facts"]) == ("10,029", "69", "25")
    assert funnel["new memories"] == "12"
    assert by_title["Memory against its limits"].rows[0] == ("-home-ann-shop", "180", "190", "24 kB", "96%")
    assert by_title["Gates that refused"].rows[0] == ("messages", "31")
    assert by_title["Bytes reclaimed"].rows[0] == ("2026-03-09", "0 B", "7.4 MB")
    assert by_title["Backlog"].says.endswith("the oldest for 32.0 days.")
    assert by_title["Tokens and money"].says.startswith("75.0000 USD in the 30 runs")


def test_nothing_is_shown_that_was_not_recorded() -> None:
    page = {section.title: section for section in sections(View([a_night()]))}
    assert not any(section.chart for title, section in page.items() if title != "From sessions to memories")
    assert page["Tokens and money"].says == "No language model was asked."
    assert page["Bytes reclaimed"].says == "Nothing was removed yet."
    assert page["Rescued from Claude Code's clean-up"].says == "Nothing was due."


def test_what_was_rescued_and_what_found_no_room_is_shown_by_night() -> None:
    nights = [a_night(1), a_night(2, counts={"rescued": 3, "rescued_bytes": 4_096, "rescue_left_out": 2})]
    page = {section.title: section for section in sections(View(nights))}
    (row,) = page["Rescued from Claude Code's clean-up"].rows
    assert row[1:] == ("3", "4.1 kB", "2", "0")


def test_elements_are_closed_and_every_picture_is_told() -> None:
    elements = Elements(html_of(BUSY))
    assert elements.open == []
    pictures = [attributes for tag, attributes in elements.seen if tag == "svg"]
    ids = {attributes.get("id") for _, attributes in elements.seen}
    assert len(pictures) >= 6
    for picture in pictures:
        assert picture["role"] == "img"
        assert set((picture["aria-labelledby"] or "").split()) <= ids
    tables = sum(tag == "table" for tag, _ in elements.seen)
    assert tables >= len(pictures)


def test_the_page_asks_for_nothing_and_runs_nothing() -> None:
    page = html_of(BUSY)
    assert not re.search(r"(?i)<script|<link|<img|<iframe|url\(|@import|https?:|\son\w+=", page)
    assert "default-src 'none'" in page


def test_a_name_that_is_a_script_is_text() -> None:
    assert "&lt;script&gt;alert(1)" in html_of(BUSY)
    assert r"\<script\>alert\(1\)" in markdown_of(BUSY)


def test_the_page_is_the_same_for_the_same_history() -> None:
    assert html_of(BUSY) == html_of(View(a_busy_month(), WEEKS))


def test_markdown_has_a_table_where_the_page_has_a_chart() -> None:
    text = markdown_of(BUSY)
    assert "| week of | into the trash | freed |" in text
    # before the sections stands what was learned
    assert text.count("\n## ") == len(sections(BUSY))


def test_what_cannot_be_read_of_the_history_comes_first() -> None:
    first = sections(View([a_night()], (), ["line 3 does not parse"]))[0]
    assert first.rows == [("line 3 does not parse",)]


@pytest.mark.parametrize("odd", ["\udcff", "\x00", "\x1b", "\u202e"])
def test_odd_characters_are_shown_as_escapes(odd: str) -> None:
    view = View([a_night(refusals={f"gate{odd}": 1})])
    for text in (html_of(view), markdown_of(view)):
        assert odd not in text
        assert "gate\\" in text
        text.encode()


def test_weeks_add_up_what_the_audit_log_says() -> None:
    went: list[tuple[Action, int, str]] = [
        ("trash", 5, "2026-03-04T03:00:00+00:00"),
        ("free", 3, "2026-03-08T23:59:00+00:00"),
        ("free", 4, "2026-03-09T00:00:00+00:00"),
        ("archive", 9, "2026-03-09T00:00:00+00:00"),
    ]
    lines = [Line(action=action, size=size, n=1, at=at, prev="") for action, size, at in went]
    assert weeks_of(lines) == [Week(date(2026, 3, 2), 5, 3), Week(date(2026, 3, 9), 0, 4)]
